//! `zot context`: what every request begins with, and what each part of it costs.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::json;
use zot_sdk::{
    Config, ContextKind, ContextPart, ExtensionNotice, ModelChoice, Persistence, Recording,
    Runtime, ToolChoice,
};
use zot_stdio::executor;

use crate::arguments::Arguments;
use crate::ext_command::terminal::{one_line, write_table};
use crate::failure::Failure;
use crate::output::say_json;
use crate::warn;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let as_json = arguments.is_json();
    let config = without_model(arguments.config(Persistence::Never));
    let (parts, warnings) = executor::run(|_| async {
        let runtime = Runtime::new(config)?;
        // Waits for extensions, whose tools count.
        runtime.commands().await;
        let parts = runtime.context();
        let mut warnings = runtime.warnings().to_vec();
        while let Some(notice) = runtime.take_notice() {
            if let ExtensionNotice::Problem(warning) = notice {
                warnings.push(warning);
            }
        }
        runtime.close().await;
        Ok::<_, Failure>((parts, warnings))
    })??;
    let written = match as_json {
        true => write_json(&parts, &warnings),
        false => {
            warn(&warnings);
            write_text(&parts)
        }
    };
    match written {
        // Whoever closed the pipe has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// No model is asked, so no key is needed: the context is the same for all of them.
fn without_model(config: Config) -> Config {
    Config {
        model: ModelChoice {
            provider: Some("offline".to_owned()),
            model: None,
            api_key: None,
            base_url: None,
            wire: None,
            ..config.model
        },
        tools: ToolChoice {
            dialect: None,
            ..config.tools
        },
        recording: Recording {
            record: None,
            replay: None,
            ..config.recording
        },
        ..config
    }
}

fn total(parts: &[ContextPart]) -> (usize, u64) {
    let bytes = parts.iter().map(|part| part.bytes).sum();
    (bytes, parts.iter().map(|part| part.tokens).sum())
}

fn write_json(parts: &[ContextPart], warnings: &[String]) -> io::Result<()> {
    let (bytes, tokens) = total(parts);
    let parts: Vec<_> = parts
        .iter()
        .map(|part| {
            json!({
                "kind": part.kind.as_str(),
                "name": part.name,
                "path": part.path.as_ref().map(|path| path.display().to_string()),
                "extension": part.extension,
                "bytes": part.bytes,
                "tokens": part.tokens,
            })
        })
        .collect();
    let report = json!({
        "parts": parts,
        "bytes": bytes,
        "tokens": tokens,
        "warnings": warnings,
    });
    say_json(&report)
}

fn write_text(parts: &[ContextPart]) -> io::Result<()> {
    let mut rows = vec![["PART", "TOKENS", "FROM"].map(str::to_owned)];
    for part in parts {
        let name = match part.kind {
            ContextKind::Tool => format!("tool {}", part.name),
            kind => kind.as_str().replace('_', " "),
        };
        let from = match (&part.path, &part.extension, part.kind) {
            (Some(path), ..) => path.display().to_string(),
            (None, Some(extension), _) => format!("extension {extension}"),
            (None, None, ContextKind::Tool) => "built in".to_owned(),
            (None, None, _) => part.name.clone(),
        };
        rows.push([name, part.tokens.to_string(), one_line(&from)]);
    }
    let (_, tokens) = total(parts);
    rows.push(["total", &tokens.to_string(), ""].map(str::to_owned));
    let mut output = zot_terminal::buffered_stdout();
    write_table(&mut output, &rows)?;
    writeln!(
        output,
        "Estimated, at four bytes a token. Every request begins with this."
    )?;
    output.flush()
}
