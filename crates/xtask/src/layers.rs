//! Checks the dependencies between crates against the table of layers.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// The position of a crate. A crate may depend on lower layers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Layer(u8),
    /// In this layer, but may depend on `zot-wire` only, because authors of extensions link it.
    WireOnly(u8),
    /// An example, which may depend on this crate only.
    Example(&'static str),
    /// For tests; may not depend on the product.
    TestOnly,
    /// For tests; may depend on everything.
    Checks,
}

const TABLE: [(&str, Position); 34] = [
    ("zot-conversation", Position::Layer(0)),
    ("zot-wire", Position::Layer(0)),
    ("zot-process", Position::Layer(0)),
    ("zot-files", Position::Layer(0)),
    ("zot-terminal", Position::Layer(0)),
    ("zot-http-server", Position::Layer(0)),
    ("zot-provider", Position::Layer(1)),
    ("zot-cassette", Position::Layer(1)),
    ("zot-offline", Position::Layer(1)),
    ("zot-hermes", Position::Layer(1)),
    ("zot-auth", Position::Layer(1)),
    ("zot-config", Position::Layer(1)),
    ("zot-agent", Position::Layer(1)),
    ("zot-tools", Position::Layer(1)),
    ("zot-session", Position::Layer(1)),
    ("zot-context", Position::Layer(1)),
    ("zot-stdio", Position::Layer(1)),
    ("zot-extension-contract", Position::Layer(1)),
    ("zot-extension-host", Position::Layer(2)),
    ("zot-extension-store", Position::Layer(2)),
    ("zot-extension-check", Position::Layer(2)),
    ("zot-mcp", Position::Layer(2)),
    ("zot-sdk", Position::Layer(3)),
    ("zot-rpc", Position::Layer(4)),
    ("zot-mcp-server", Position::Layer(4)),
    ("zot-tui", Position::Layer(4)),
    ("zino-agent", Position::Layer(5)),
    ("zino", Position::Layer(6)),
    ("glasspane", Position::Layer(4)),
    ("zot-ext", Position::WireOnly(4)),
    ("zot-cli", Position::Layer(5)),
    ("zot-example-hello", Position::Example("zot-ext")),
    ("zot-example-sdk", Position::Example("zot-sdk")),
    ("testkit", Position::TestOnly),
];

/// This crate, which checks the others.
const CHECKS: &str = "xtask";

/// A crate of the workspace and the workspace crates it depends on outside its tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub dependencies: Vec<String>,
}

/// Returns the forbidden dependencies of `members`.
pub fn problems(members: &[Member]) -> Vec<String> {
    let mut problems = Vec::new();
    for member in members {
        let name = &member.name;
        let Some(own) = position(name) else {
            problems.push(format!(
                "{name} is in no layer: add it to the table in ARCHITECTURE.md and in xtask"
            ));
            continue;
        };
        for dependency in &member.dependencies {
            // A crate that is missing from the table is reported itself.
            let Some(below) = position(dependency) else {
                continue;
            };
            if let Some(reason) = refusal(own, dependency, below) {
                problems.push(format!("{name} may not depend on {dependency}: {reason}"));
            }
        }
    }
    problems
}

fn position(name: &str) -> Option<Position> {
    if name == CHECKS {
        return Some(Position::Checks);
    }
    let row = TABLE.iter().find(|(row, _)| *row == name);
    row.map(|(_, position)| *position)
}

fn refusal(position: Position, dependency: &str, below: Position) -> Option<&'static str> {
    match (position, below) {
        (Position::Checks, _) => None,
        (_, Position::Checks | Position::TestOnly) => Some("it is for tests only"),
        (Position::TestOnly, _) => Some("testkit talks to zot through sockets and pipes only"),
        (_, Position::Example(_)) => Some("it is an example"),
        (Position::Example(only), _) if dependency == only => None,
        (Position::Example(_), _) => Some("an example may depend on one crate only"),
        (Position::WireOnly(_), _) if dependency == "zot-wire" => None,
        (Position::WireOnly(_), _) => Some("it may depend on zot-wire only"),
        (Position::Layer(own), Position::Layer(other) | Position::WireOnly(other)) => {
            if own == other {
                Some("crates of the same layer may not depend on each other")
            } else if own < other {
                Some("it is in a higher layer")
            } else {
                None
            }
        }
    }
}

/// Returns the members of the workspace at `root`.
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
