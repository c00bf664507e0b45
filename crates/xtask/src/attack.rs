//! `cargo xtask attack`: runs what hostile models, projects, servers and confined programs try against
//! the real programs, over real pipes and sockets. Each attack prints whether it was held off, and the
//! figure that docs/security.md quotes.
//!
//! An attack uses only temporary directories and loopback, ends what it started, and has a time limit.
//! Tests enforce the same rules one by one; this is the whole list in one run.

mod files;
mod isolation;
mod sandbox;
mod terminal;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// The programs to attack.
pub(crate) struct Targets {
    directory: PathBuf,
}

impl Targets {
    /// Returns the path of `zot`, `zino` or `glasspane`.
    fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// An attack and the promise that it tries to break.
struct Attack {
    /// The item of docs/security.md, such as `core-dump`.
    name: &'static str,
    /// What must not happen, in one sentence.
    promise: &'static str,
    /// Runs the attack. An error means that the attack itself failed to run.
    run: fn(&Targets) -> anyhow::Result<Outcome>,
}

/// The outcome of an attack.
enum Outcome {
    /// The promise was kept; the text has the figure.
    Held(String),
    /// The promise was broken; the text explains how.
    Broken(String),
}

/// Runs every attack whose name contains `filter` against the programs in `directory`.
pub(crate) fn run(directory: &Path, filter: &str) -> anyhow::Result<()> {
    let directory = directory.canonicalize().with_context(|| {
        format!(
            "cannot find {}: build the programs first",
            directory.display()
        )
    })?;
    let targets = Targets { directory };
    let mut broken = 0;
    let mut output = io::stdout().lock();
    writeln!(output, "| attack | promise | outcome |\n|---|---|---|")?;
    for attack in [
        isolation::ATTACKS,
        sandbox::ATTACKS,
        files::ATTACKS,
        terminal::ATTACKS,
    ]
    .into_iter()
    .flatten()
    .filter(|attack| attack.name.contains(filter))
    {
        let outcome = (attack.run)(&targets)
            .with_context(|| format!("the attack {} could not be carried out", attack.name))?;
        let shown = match outcome {
            Outcome::Held(figure) => format!("held: {figure}"),
            Outcome::Broken(how) => {
                broken += 1;
                format!("**broken**: {how}")
            }
        };
        writeln!(output, "| {} | {} | {shown} |", attack.name, attack.promise)?;
        output.flush()?;
    }
    ensure!(broken == 0, "{broken} promises were broken");
    Ok(())
}
