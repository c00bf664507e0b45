//! `zot ext install`.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use zot_sdk::extensions::Manifest;
use zot_sdk::extensions::store::{IfTaken, Origin, Store};

use super::terminal::{note, one_line};
use super::{Failure, permissions};
use crate::output::say;

/// Whether someone has agreed to the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Given,
    Ask,
}

pub(super) async fn run(
    store: &Store,
    origin: &str,
    consent: Consent,
    if_taken: IfTaken,
) -> Result<ExitCode, Failure> {
    let origin = Origin::parse(origin)?;
    let mut progress = |step: &str| note(format_args!("{}", one_line(step)));
    let staged = store.stage(&origin, &mut progress).await?;
    staged.check_taken(if_taken)?;
    show(staged.manifest(), &origin);
    if let Some(old) = staged.taken_by() {
        note(format_args!("  replaces {}", old.display()));
    }
    if consent == Consent::Ask {
        ask().await?;
    }
    let manifest = staged.manifest().clone();
    let place = staged.put_in_place(if_taken)?;
    say(format_args!(
        "{} {} installed in {}",
        manifest.name,
        one_line(&manifest.version),
        place.display()
    ))?;
    if !manifest.enabled {
        note(format_args!(
            "its manifest disables it: `zot ext enable {}` changes that",
            manifest.name
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(manifest: &Manifest, origin: &Origin) {
    let about = match manifest.description.as_str() {
        "" => String::new(),
        description => format!(": {}", one_line(description)),
    };
    let version = one_line(&manifest.version);
    note(format_args!("{} {version}{about}", manifest.name));
    note(format_args!("  from {}", one_line(&origin.to_string())));
    let mut command = vec![manifest.exec.clone()];
    command.extend(manifest.args.iter().cloned());
    note(format_args!("  starts {}", one_line(&command.join(" "))));
    for line in permissions::details(manifest.permissions.as_ref()) {
        note(format_args!("  {}", one_line(&line)));
    }
    if let Some(enforcement) = permissions::enforcement(manifest) {
        note(format_args!("  {enforcement}"));
    }
}

/// Fails unless someone says yes.
async fn ask() -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Refused(
            "not installed: nobody can be asked here; use --yes to agree to the above".to_owned(),
        ));
    }
    let mut stderr = io::stderr();
    let _ = write!(stderr, "install it? [y/N] ").and_then(|()| stderr.flush());
    // In a thread, so that Ctrl-C is heard meanwhile.
    let answer = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map(|_| answer)
    });
    let answer = answer.await.map_err(io::Error::other)??;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Refused("not installed".to_owned())),
    }
}
