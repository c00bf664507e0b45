//! Runs the fuzz targets of `fuzz/`, one after the other.

use std::process::Command;

use anyhow::{Context, ensure};
use xtask::repository::root;

const TARGETS: [&str; 3] = ["sse_decoder", "rpc_line", "partial_arguments"];

pub(crate) fn run(seconds: u32) -> anyhow::Result<()> {
    for target in TARGETS {
        // `cargo xtask` runs under the pinned toolchain; sanitizers exist on nightly only.
        let status = Command::new("rustup")
            .args(["run", "nightly", "cargo", "fuzz", "run", target, "--"])
            .args([
                format!("-max_total_time={seconds}"),
                "-max_len=4096".to_owned(),
            ])
            .current_dir(root())
            .env_remove("CARGO")
            .env_remove("RUSTUP_TOOLCHAIN")
            .status()
            .context("cannot start rustup")?;
        ensure!(
            status.success(),
            "{target} failed; its input is in fuzz/artifacts"
        );
    }
    Ok(())
}
