//! `zot mcp`: zot as an MCP server.

mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use serve::ServeArguments;

/// Use MCP servers, or be one
#[derive(Parser)]
#[command(name = "zot mcp", bin_name = "zot mcp")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Serve(Box<ServeArguments>),
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.action {
        Action::Serve(arguments) => serve::run(*arguments),
    }
}
