//! `glasspane serve`: the page. A stub until the page is there.

use clap::Args;

use crate::program::Failure;

/// Show agents in a web page.
#[derive(Debug, Args)]
pub struct ServeArguments {}

/// Serves until told to stop.
pub async fn run(_arguments: ServeArguments) -> Result<(), Failure> {
    Err(Failure::Failed("serve is not there yet".to_owned()))
}
