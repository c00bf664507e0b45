//! A session as one page that needs nothing else: no script, no request.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zot_conversation::{ContentBlock, Image, Message, Role, ToolResult};

use super::chart::chart;
use super::rendered::rendered;
use super::{Edits, gist, minute, pretty, spent};
use crate::Session;

/// The image types that are shown. Others, above all SVG, could contain scripts.
const SHOWN_IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Renders a session as a page.
pub fn html(session: &Session) -> String {
    let meta = &session.meta;
    let mut prompts = session
        .messages
        .iter()
        .filter(|message| message.is_prompt());
    let first = || prompts.next().map(|message| message.text());
    let title = meta.title.clone().or_else(first).unwrap_or_default();
    let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = title.chars().take(80).collect();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{}</title>\n<style>{}</style></head><body>\n<main>\n<header><h1>{}</h1>\n\
         <p>{} · {} {} · {} messages · {}</p>\n{}</header>\n",
        escaped(&title),
        include_str!("page.css"),
        escaped(&title),
        minute(meta.started),
        escaped(&meta.provider),
        escaped(&meta.model),
        session.messages.len(),
        escaped(&spent(&session.usage)),
        chart(&session.turns),
    );
    let edits = Edits::of(session);
    let mut turns = session.turns.iter().peekable();
    for (index, message) in session.messages.iter().enumerate() {
        add_message(&mut page, index + 1, message, &edits);
        while let Some(turn) = turns.next_if(|turn| turn.messages <= index + 1) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                page,
                "<p class=\"spent\">{}</p>",
                escaped(&spent(&turn.usage))
            );
        }
    }
    page.push_str("</main></body></html>\n");
    page
}

/// Escapes text for HTML elements and attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => output.push_str("&amp;"),
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            '"' => output.push_str("&quot;"),
            '\'' => output.push_str("&#39;"),
            // Bidirectional controls reorder the characters after them, which can hide the real
            // text.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => output.push('\u{fffd}'),
            letter if letter.is_control() && !matches!(letter, '\n' | '\t') => {
                output.push('\u{fffd}');
            }
            letter => output.push(letter),
        }
    }
    output
}

fn add_message(page: &mut String, number: usize, message: &Message, edits: &Edits<'_>) {
    let (class, author) = match message.role {
        Role::User if message.is_image_mirror() => ("tool", ""),
        Role::User => ("user", "User"),
        Role::Assistant => ("assistant", "Assistant"),
        Role::Tool => ("tool", ""),
    };
    let _ = writeln!(page, "<section class=\"{class}\" id=\"m{number}\">");
    if !author.is_empty() {
        let _ = writeln!(page, "<h2>{author}<a href=\"#m{number}\">{number}</a></h2>");
    }
    for block in &message.content {
        match (message.role, block) {
            // A model writes Markdown; what a user typed is shown verbatim.
            (Role::Assistant, ContentBlock::Text(text)) => {
                let _ = writeln!(page, "<div class=\"markdown\">{}</div>", rendered(text));
            }
            _ => add_block(page, block, edits),
        }
    }
    page.push_str("</section>\n");
}

fn add_block(page: &mut String, block: &ContentBlock, edits: &Edits<'_>) {
    let _ = match block {
        ContentBlock::Text(text) => {
            writeln!(
                page,
                "<div class=\"text\">{}</div>",
                escaped(text.trim_end())
            )
        }
        ContentBlock::Image(image) => {
            add_image(page, image);
            Ok(())
        }
        ContentBlock::Reasoning(reasoning) if reasoning.text.is_empty() => Ok(()),
        ContentBlock::Reasoning(reasoning) => writeln!(
            page,
            "<details class=\"thinking\"><summary>Thinking</summary><pre>{}</pre></details>",
            escaped(&reasoning.text)
        ),
        ContentBlock::ToolCall(call) => {
            let arguments = call.arguments.json_or_empty();
            writeln!(
                page,
                "<details><summary><b>{}</b> <code>{}</code></summary><pre>{}</pre></details>",
                escaped(&call.name),
                escaped(&gist(&call.name, arguments)),
                escaped(&pretty(arguments))
            )
        }
        ContentBlock::ToolResult(result) => {
            add_result(page, result, edits);
            Ok(())
        }
    };
}

fn add_image(page: &mut String, image: &Image) {
    let _ = if SHOWN_IMAGES.contains(&image.mime_type.as_str()) {
        writeln!(
            page,
            "<img alt=\"an image\" src=\"data:{};base64,{}\">",
            image.mime_type,
            STANDARD.encode(&image.data)
        )
    } else {
        writeln!(page, "<p>(an image: {})</p>", escaped(&image.mime_type))
    };
}

fn add_result(page: &mut String, result: &ToolResult, edits: &Edits<'_>) {
    let (class, summary) = match result.is_error {
        true => ("failed", "failed"),
        false => ("result", "result"),
    };
    let _ = write!(
        page,
        "<details class=\"{class}\"><summary>{summary}</summary>"
    );
    for block in &result.content {
        match block {
            ContentBlock::Text(text) if edits.is_diff(result, text) => add_diff(page, text),
            ContentBlock::Text(text) => {
                let _ = write!(page, "<pre>{}</pre>", escaped(text));
            }
            ContentBlock::Image(image) => add_image(page, image),
            _ => {}
        }
    }
    page.push_str("</details>\n");
}

fn add_diff(page: &mut String, diff: &str) {
    page.push_str("<pre class=\"diff\">");
    for line in diff.lines() {
        let class = match line.as_bytes().first() {
            Some(b'+') if !line.starts_with("+++") => "add",
            Some(b'-') if !line.starts_with("---") => "del",
            Some(b'@') => "at",
            _ => "same",
        };
        let _ = writeln!(page, "<span class=\"{class}\">{}</span>", escaped(line));
    }
    page.push_str("</pre>");
}
