//! `zot sessions export` and `zot sessions import`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use zot_sdk::Workspace;
use zot_sdk::sessions::{self, ExportFormat, IfExists};

use crate::failure::Failure;
use crate::output::{Format, print_json, print_line};
use crate::warn;

#[derive(Args)]
pub(super) struct Arguments {
    /// The session
    id: String,
    /// The format; by default, that of the output file's extension
    #[arg(long, short)]
    format: Option<Kind>,
    /// The file to write; by default, standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Print JSON about the written file
    #[arg(long, requires = "output")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A portable file that can be imported elsewhere; does not name your working directory
    Zotsession,
    /// Markdown
    Md,
    /// A single self-contained page
    Html,
}

impl Kind {
    fn format(self) -> ExportFormat {
        match self {
            Self::Zotsession => ExportFormat::Portable,
            Self::Md => ExportFormat::Markdown,
            Self::Html => ExportFormat::Html,
        }
    }
}

pub(super) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<(), Failure> {
    let chosen = arguments.format.map(Kind::format);
    let Some(path) = &arguments.output else {
        return print(workspace, &arguments.id, chosen);
    };
    let format = chosen.or_else(|| ExportFormat::of_path(path));
    let format = format.unwrap_or(ExportFormat::Portable);
    let if_exists = match arguments.force {
        true => IfExists::Replace,
        false => IfExists::Refuse,
    };
    let report = sessions::export_to_file(workspace, &arguments.id, format, path, if_exists)?;
    warn(report.warning().as_slice());
    match arguments.json {
        true => print_json(&json!({
            "path": report.path,
            "bytes": report.bytes,
            "messages_with_paths": report.messages_with_paths,
        }))?,
        false => print_line(report)?,
    }
    Ok(())
}

fn print(workspace: &Workspace, id: &str, chosen: Option<ExportFormat>) -> Result<(), Failure> {
    let format = chosen.unwrap_or(ExportFormat::Portable);
    let exported = sessions::export(workspace, id, format)?;
    let bytes = &exported.bytes;
    let written = match format {
        ExportFormat::Portable => zot_terminal::json_stdout().write_all(bytes),
        ExportFormat::Markdown | ExportFormat::Html => zot_terminal::stdout().write_all(bytes),
    };
    written.map_err(Failure::output)?;
    warn(exported.warning().as_slice());
    Ok(())
}

pub(super) fn import(workspace: &Workspace, file: &Path, format: Format) -> Result<(), Failure> {
    let report = sessions::import(workspace, file)?;
    warn(&report.findings);
    match format {
        Format::Json => print_json(&json!({ "id": report.id, "path": report.path }))?,
        Format::Text => print_line(report)?,
    }
    Ok(())
}
