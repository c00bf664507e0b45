//! `zot sessions show`.

use std::io;

use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::conversation::{ContentBlock, Image, Message, Role};
use zot_sdk::sessions::{self, Session, ShownSession};
use zot_terminal::Print;

use super::table::shortened;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};

/// How much of a tool result is shown.
const RESULT_LINES: usize = 6;
const RESULT_WIDTH: usize = 160;

/// How much of a session is shown to people.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The metadata.
    Summary,
    /// The metadata and the messages.
    Whole,
}

pub(super) fn run(
    workspace: &Workspace,
    id: &str,
    extent: Extent,
    format: Format,
) -> Result<(), Failure> {
    let shown = sessions::show(workspace, id)?;
    if format == Format::Json {
        let mut value = describe(&shown.session);
        value["path"] = json!(shown.path);
        return print_json(&value);
    }
    print(|output| write(output, &shown, extent))
}

fn write(output: &mut dyn Print, shown: &ShownSession, extent: Extent) -> io::Result<()> {
    let overview = shown.overview();
    let counts = (extent == Extent::Summary).then(|| overview.counts());
    for (name, value) in overview.lines().into_iter().chain(counts) {
        let value = output.cell(&value);
        writeln!(output, "{name:<10} {value}")?;
    }
    if extent == Extent::Summary {
        return Ok(());
    }
    let mut prompt = 0;
    for message in &shown.session.messages {
        if message.is_prompt() {
            prompt += 1;
        }
        write_message(output, message, prompt)?;
    }
    Ok(())
}

fn write_message(output: &mut dyn Print, message: &Message, prompt: usize) -> io::Result<()> {
    match message.role {
        Role::User if message.is_image_mirror() => return write_mirror(output, message),
        Role::User => writeln!(output, "\n[{prompt}] user")?,
        Role::Assistant => writeln!(output, "\nassistant")?,
        Role::Tool => {}
    }
    for block in &message.content {
        match block {
            ContentBlock::Text(text) => indented(output, "  ", text.trim_end())?,
            ContentBlock::Image(image) => write_image(output, image)?,
            ContentBlock::Reasoning(reasoning) if !reasoning.text.is_empty() => {
                indented(output, "  ~ ", reasoning.text.trim_end())?;
            }
            ContentBlock::Reasoning(_) => {}
            ContentBlock::ToolCall(call) => {
                let call = format!("{} {}", call.name, call.arguments.json_or_empty());
                writeln!(
                    output,
                    "  > {}",
                    output.cell(&shortened(&call, RESULT_WIDTH))
                )?;
            }
            ContentBlock::ToolResult(result) => {
                let mark = if result.is_error { "  ! " } else { "  < " };
                let text: String = result.content.iter().filter_map(text_of).collect();
                let lines: Vec<String> = text
                    .trim_end()
                    .lines()
                    .map(|line| shortened(line, RESULT_WIDTH))
                    .collect();
                let shown = lines
                    .get(..RESULT_LINES.min(lines.len()))
                    .unwrap_or_default();
                indented(output, mark, &shown.join("\n"))?;
                if lines.len() > RESULT_LINES {
                    writeln!(output, "    … {} more lines", lines.len() - RESULT_LINES)?;
                }
            }
        }
    }
    Ok(())
}

/// Shows the images of tool results; their texts were shown with the results.
fn write_mirror(output: &mut dyn Print, message: &Message) -> io::Result<()> {
    for block in &message.content {
        if let ContentBlock::Image(image) = block {
            write_image(output, image)?;
        }
    }
    Ok(())
}

fn write_image(output: &mut dyn Print, image: &Image) -> io::Result<()> {
    let size = image.data.len();
    let kind = output.cell(&image.mime_type);
    writeln!(output, "  (image: {kind}, {size} bytes)")
}

fn indented(output: &mut dyn Print, mark: &str, text: &str) -> io::Result<()> {
    let blank = " ".repeat(mark.len());
    for (number, line) in text.lines().enumerate() {
        let mark = if number == 0 { mark } else { &blank };
        writeln!(
            output,
            "{}",
            format!("{mark}{}", output.cell(line)).trim_end()
        )?;
    }
    Ok(())
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(text),
        _ => None,
    }
}

/// A session as JSON.
fn describe(session: &Session) -> Value {
    let meta = &session.meta;
    let usage = &session.usage;
    json!({
        "id": meta.id,
        "title": meta.title,
        "cwd": meta.cwd,
        "provider": meta.provider,
        "model": meta.model,
        "started": meta.started.to_string(),
        "parent": meta.parent,
        "fork_point": meta.fork_point,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "cost_usd": usage.cost_usd,
        },
        "findings": session.report.findings(),
        "messages": zot_sdk::sessions::session_messages(session),
    })
}
