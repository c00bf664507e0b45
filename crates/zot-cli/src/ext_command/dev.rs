//! `zot ext dev`.

mod output;

use std::path::Path;
use std::process::ExitCode;

use zot_sdk::Workspace;
use zot_sdk::extensions::develop;

use crate::failure::Failure;
use crate::stdin_lines;

pub(super) async fn run(workspace: &Workspace, path: &Path) -> Result<ExitCode, Failure> {
    let lines = stdin_lines::lines()?;
    match develop(workspace, path, lines, &mut output::write).await? {}
}
