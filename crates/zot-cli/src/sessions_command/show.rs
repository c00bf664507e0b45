//! `zot sessions show`.

use std::io::{self, Write};

use serde_json::{Value, json};
use zot_sdk::sessions::conversation::{ContentBlock, Image, Message, Role};
use zot_sdk::sessions::{Session, View, read};
use zot_terminal::Print;

use super::table::shortened;
use super::{Failure, Place};
use crate::output::{Format, say_json};

/// How much of a tool's result is shown.
const RESULT_LINES: usize = 6;
const RESULT_WIDTH: usize = 160;

/// How much of a session is shown to people.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// What it is.
    Summary,
    /// And what was said.
    Whole,
}

pub(super) fn run(place: &Place, id: &str, extent: Extent, format: Format) -> Result<(), Failure> {
    let path = place.library.find(id)?;
    let session = read(&path, View::Everything)?;
    if format == Format::Json {
        let mut value = describe(&session);
        value["path"] = json!(path);
        return Ok(say_json(&value)?);
    }
    let mut output = zot_terminal::buffered_stdout();
    let meta = &session.meta;
    writeln!(output, "session    {}", output.cell(&meta.id))?;
    if let Some(title) = &meta.title {
        writeln!(output, "title      {}", output.cell(title))?;
    }
    writeln!(output, "file       {}", path.display())?;
    writeln!(output, "directory  {}", output.cell(&meta.cwd))?;
    writeln!(
        output,
        "model      {} {}",
        output.cell(&meta.provider),
        output.cell(&meta.model)
    )?;
    writeln!(
        output,
        "started    {}",
        meta.started.strftime("%Y-%m-%d %H:%M UTC")
    )?;
    if let Some(parent) = &meta.parent {
        let kept = meta.fork_point.unwrap_or_default();
        writeln!(
            output,
            "forked     from {} after {kept} messages",
            output.cell(parent)
        )?;
    }
    let usage = &session.usage;
    writeln!(
        output,
        "spent      {} tokens in, {} out, ${:.4}",
        usage.prompt_tokens(),
        usage.output,
        usage.cost_usd
    )?;
    for finding in session.report.findings() {
        writeln!(output, "note       {finding}")?;
    }
    if extent == Extent::Summary {
        let messages = session.messages.iter();
        let prompts = messages.filter(|message| message.is_prompt()).count();
        let said = session.messages.len();
        writeln!(
            output,
            "said       {said} messages, {prompts} of them prompts"
        )?;
        return Ok(output.flush()?);
    }
    let mut prompt = 0;
    for message in &session.messages {
        if message.is_prompt() {
            prompt += 1;
        }
        write_message(&mut output, message, prompt)?;
    }
    Ok(output.flush()?)
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

/// The texts of tool results have been shown already; the images have not.
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
    writeln!(output, "  (an image: {kind}, {size} bytes)")
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

/// A session for programs.
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
        "messages": zot_sdk::session_messages(session),
    })
}
