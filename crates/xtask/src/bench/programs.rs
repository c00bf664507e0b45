//! The programs under test, built like packages.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use testkit::{Wire, Workdir};
use xtask::repository::root;

const BINARIES: [&str; 8] = [
    "zot",
    "zino",
    "glasspane",
    "scripted-model",
    "bench-floor",
    "bench-child",
    "bench-runtime",
    "xtask",
];

/// The profile of packages: the figures are those of the program that people install.
const PROFILE: &str = "dist";

/// The paths of the programs.
pub(super) struct Programs {
    pub(super) zot: PathBuf,
    pub(super) zino: PathBuf,
    pub(super) glasspane: PathBuf,
    pub(super) scripted_model: PathBuf,
    pub(super) floor: PathBuf,
    pub(super) child: PathBuf,
    pub(super) runtime: PathBuf,
    xtask: PathBuf,
}

impl Programs {
    pub(super) fn build() -> anyhow::Result<Self> {
        let [
            zot,
            zino,
            glasspane,
            scripted_model,
            floor,
            child,
            runtime,
            xtask,
        ] = build(BINARIES)?;
        Ok(Self {
            zot,
            zino,
            glasspane,
            scripted_model,
            floor,
            child,
            runtime,
            xtask,
        })
    }

    /// Returns an optimised build of this program, for benches whose own code is part of the
    /// measurement. Without cargo's library path, which extensions would inherit and which would slow
    /// their start.
    pub(super) fn optimised(&self) -> Command {
        let mut command = Command::new(&self.xtask);
        command.env_remove("LD_LIBRARY_PATH");
        command
    }
}

/// Builds these binaries as packages do and returns their paths.
pub(super) fn build<const COUNT: usize>(
    names: [&'static str; COUNT],
) -> anyhow::Result<[PathBuf; COUNT]> {
    let mut paths = [const { PathBuf::new() }; COUNT];
    for (path, name) in paths.iter_mut().zip(names) {
        *path = build_one(name)?;
    }
    Ok(paths)
}

/// Builds one program separately, as users do: together with tests and examples, dependencies would get
/// more features (tokio's test clock and threads).
fn build_one(name: &str) -> anyhow::Result<PathBuf> {
    let package = match name {
        "zot" => "zot-cli",
        "scripted-model" => "testkit",
        "zino" | "glasspane" => name,
        _ => "xtask",
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--profile", PROFILE, "--locked"])
        .args(["--package", package, "--bin", name])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(
        output.status.success(),
        "the {PROFILE} build of {name} failed"
    );
    executable(&output.stdout, name)
}

/// Finds the binary `name` in cargo's messages.
fn executable(messages: &[u8], name: &str) -> anyhow::Result<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Target,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    for line in messages.split(|&byte| byte == b'\n') {
        // Messages of other kinds lack these fields.
        if let Ok(Artifact {
            target,
            executable: Some(path),
        }) = serde_json::from_slice(line)
            && target.name == name
        {
            return Ok(path);
        }
    }
    bail!("cargo did not build {name}")
}

/// Returns `zot rpc` in a clean environment, with the model server on `port`.
pub(super) fn zot_command(zot: &Path, workdir: &Workdir, port: u16, wire: Wire) -> Command {
    let mut command = clean_command(zot);
    let url = match wire {
        Wire::OpenAi | Wire::OpenAiResponses => format!("http://127.0.0.1:{port}/v1"),
        Wire::Anthropic | Wire::Gemini => format!("http://127.0.0.1:{port}"),
    };
    command
        .args([
            "rpc",
            "--provider",
            wire.provider(),
            "--model",
            wire.model(),
        ])
        .args(["--api-key", "x", "--base-url", &url])
        .env("HOME", workdir.home())
        .env("ZOT_HOME", workdir.zot_home())
        .current_dir(workdir.path());
    command
}

/// Returns a command without cargo's environment, whose library path slows every start. Sets the home
/// directory, which a shell would otherwise look up.
pub(super) fn clean_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/");
    command
}
