//! A session as Markdown.

use std::fmt::Write as _;

use zot_conversation::{ContentBlock, Role, ToolResult};

use super::{Edits, gist, minute, pretty, spent};
use crate::Session;

/// Renders a session as a Markdown document; tool calls are folded where HTML is supported.
pub fn markdown(session: &Session) -> String {
    let mut text = String::new();
    let meta = &session.meta;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "# Session {}\n\n{} · {} {} · {} messages · {}\n",
        meta.id.get(..8).unwrap_or(&meta.id),
        minute(meta.started),
        meta.provider,
        meta.model,
        session.messages.len(),
        spent(&session.usage)
    );
    let edits = Edits::of(session);
    let mut turns = session.turns.iter().peekable();
    for (index, message) in session.messages.iter().enumerate() {
        match message.role {
            Role::User if message.is_image_mirror() => {}
            Role::User => {
                let _ = writeln!(text, "## User\n");
            }
            Role::Assistant => {
                let _ = writeln!(text, "## Assistant\n");
            }
            Role::Tool => {}
        }
        for block in &message.content {
            add_block(&mut text, block, &edits);
        }
        while let Some(turn) = turns.next_if(|turn| turn.messages <= index + 1) {
            let _ = writeln!(text, "*{}*\n", spent(&turn.usage));
        }
    }
    text
}

fn add_block(text: &mut String, block: &ContentBlock, edits: &Edits<'_>) {
    let _ = match block {
        ContentBlock::Text(part) => writeln!(text, "{}\n", part.trim_end()),
        ContentBlock::Image(image) => writeln!(
            text,
            "*(an image, {}, {} bytes)*\n",
            image.mime_type,
            image.data.len()
        ),
        ContentBlock::Reasoning(reasoning) if reasoning.text.is_empty() => Ok(()),
        ContentBlock::Reasoning(reasoning) => {
            folded(text, "Thinking", "", &reasoning.text);
            Ok(())
        }
        ContentBlock::ToolCall(call) => {
            let arguments = call.arguments.json_or_empty();
            let summary = format!("{} {}", call.name, gist(&call.name, arguments));
            folded(text, &summary, "json", &pretty(arguments));
            Ok(())
        }
        ContentBlock::ToolResult(result) => {
            add_result(text, result, edits);
            Ok(())
        }
    };
}

fn add_result(text: &mut String, result: &ToolResult, edits: &Edits<'_>) {
    let mut content = String::new();
    for block in &result.content {
        match block {
            ContentBlock::Text(part) => content.push_str(part),
            _ => content.push_str("(an image)"),
        }
    }
    let summary = match result.is_error {
        true => "Result: failed",
        false => "Result",
    };
    let language = if edits.is_diff(result, &content) {
        "diff"
    } else {
        ""
    };
    folded(text, summary, language, &content);
}

/// Adds a block that opens on a click, fenced by more backticks than it contains in a row.
fn folded(text: &mut String, summary: &str, language: &str, content: &str) {
    let longest = content
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let summary = super::html::escaped(summary.trim());
    let _ = writeln!(
        text,
        "<details><summary>{summary}</summary>\n\n{fence}{language}\n{}\n{fence}\n\n</details>\n",
        content.trim_end()
    );
}
