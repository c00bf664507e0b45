//! Which crate may depend on which: the table of the architecture, and its check.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// Where a crate stands. A crate may depend on lower layers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Layer(u8),
    /// Stands in this layer, and may depend on `zot-wire` alone: what an extension links is all
    /// that its authors pay for.
    WireOnly(u8),
    /// Shows how: may depend on this one crate, which is what other people have.
    Example(&'static str),
    /// For tests, and outside the product: may not know it.
    TestOnly,
    /// For tests; may depend on everything.
    Checks,
}

const TABLE: [(&str, Place); 31] = [
    ("zot-conversation", Place::Layer(0)),
    ("zot-wire", Place::Layer(0)),
    ("zot-process", Place::Layer(0)),
    ("zot-files", Place::Layer(0)),
    ("zot-terminal", Place::Layer(0)),
    ("zot-http-server", Place::Layer(0)),
    ("zot-provider", Place::Layer(1)),
    ("zot-cassette", Place::Layer(1)),
    ("zot-offline", Place::Layer(1)),
    ("zot-hermes", Place::Layer(1)),
    ("zot-auth", Place::Layer(1)),
    ("zot-config", Place::Layer(1)),
    ("zot-agent", Place::Layer(1)),
    ("zot-tools", Place::Layer(1)),
    ("zot-session", Place::Layer(1)),
    ("zot-context", Place::Layer(1)),
    ("zot-stdio", Place::Layer(1)),
    ("zot-extension-contract", Place::Layer(1)),
    ("zot-extension-host", Place::Layer(2)),
    ("zot-extension-store", Place::Layer(2)),
    ("zot-extension-check", Place::Layer(2)),
    ("zot-sdk", Place::Layer(3)),
    ("zot-rpc", Place::Layer(4)),
    ("zot-tui", Place::Layer(4)),
    ("zino", Place::Layer(4)),
    ("glasspane", Place::Layer(4)),
    ("zot-ext", Place::WireOnly(4)),
    ("zot-cli", Place::Layer(5)),
    ("zot-example-hello", Place::Example("zot-ext")),
    ("zot-example-sdk", Place::Example("zot-sdk")),
    ("testkit", Place::TestOnly),
];

/// This crate, which checks the others.
const CHECKS: &str = "xtask";

/// A crate of the workspace and the workspace crates it depends on outside its tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub dependencies: Vec<String>,
}

/// What is wrong with the dependencies of `members`.
pub fn complaints(members: &[Member]) -> Vec<String> {
    let mut complaints = Vec::new();
    for member in members {
        let name = &member.name;
        let Some(place) = place(name) else {
            complaints.push(format!(
                "{name} is in no layer: add it to the table in ARCHITECTURE.md and in xtask"
            ));
            continue;
        };
        for dependency in &member.dependencies {
            // A crate without a place is complained about on its own account.
            let Some(below) = self::place(dependency) else {
                continue;
            };
            if let Some(reason) = refusal(place, dependency, below) {
                complaints.push(format!("{name} may not depend on {dependency}: {reason}"));
            }
        }
    }
    complaints
}

fn place(name: &str) -> Option<Place> {
    if name == CHECKS {
        return Some(Place::Checks);
    }
    let row = TABLE.iter().find(|(row, _)| *row == name);
    row.map(|(_, place)| *place)
}

fn refusal(place: Place, dependency: &str, below: Place) -> Option<&'static str> {
    match (place, below) {
        (Place::Checks, _) => None,
        (_, Place::Checks | Place::TestOnly) => Some("it is for tests only"),
        (Place::TestOnly, _) => Some("the test kit meets zot over sockets and pipes only"),
        (_, Place::Example(_)) => Some("it is an example"),
        (Place::Example(only), _) if dependency == only => None,
        (Place::Example(_), _) => Some("an example has what other people have: one crate"),
        (Place::WireOnly(_), _) if dependency == "zot-wire" => None,
        (Place::WireOnly(_), _) => Some("it may use zot-wire and nothing else"),
        (Place::Layer(own), Place::Layer(other) | Place::WireOnly(other)) => {
            if own == other {
                Some("crates of one layer do not meet; the layer above introduces them")
            } else if own < other {
                Some("it is in a higher layer")
            } else {
                None
            }
        }
    }
}

/// The members of the workspace at `root`, as cargo sees them.
pub fn members(root: &Path) -> anyhow::Result<Vec<Member>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()
        .context("cannot start cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    members_of(&output.stdout)
}

fn members_of(metadata: &[u8]) -> anyhow::Result<Vec<Member>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        dependencies: Vec<Dependency>,
    }
    #[derive(Deserialize)]
    struct Dependency {
        name: String,
        /// `None` for a normal dependency.
        kind: Option<String>,
        /// Set for crates of this repository.
        path: Option<String>,
    }
    let metadata: Metadata = serde_json::from_slice(metadata).context("unexpected metadata")?;
    let member = |package: Package| Member {
        name: package.name,
        dependencies: package
            .dependencies
            .into_iter()
            .filter(|dependency| dependency.path.is_some())
            .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
            .map(|dependency| dependency.name)
            .collect(),
    };
    Ok(metadata.packages.into_iter().map(member).collect())
}
