//! `zot ext dev`.

mod input;
mod output;

use std::path::Path;
use std::process::ExitCode;

use zot_sdk::Workspace;
use zot_sdk::extensions::develop;

use crate::failure::Failure;

pub(super) async fn run(workspace: &Workspace, path: &Path) -> Result<ExitCode, Failure> {
    let lines = input::lines()?;
    match develop(workspace, path, lines, &mut output::write).await? {}
}
