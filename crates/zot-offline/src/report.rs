//! How the result of a tool call is shown.

use zot_conversation::{ToolResult, joined_text};

use crate::intent::{Intent, Shown};

const MAX_REPORTED_NAMES: usize = 20;
const MAX_SHOWN_LINES: usize = 12;
const MAX_SHOWN_BYTES: usize = 1_200;

/// Says what came of `intent`; `None` when it is not known why the tool was called.
pub(crate) fn report(intent: Option<&Intent>, result: &ToolResult) -> String {
    let text = joined_text(&result.content);
    let Some(intent) = intent else {
        return format!("The tool answered:{}", block(&text));
    };
    let command = intent.arguments["command"].as_str().unwrap_or_default();
    let (body, exit_code) = unframed(command, &text);
    match &intent.shown {
        Shown::Output(command) => {
            let ending = match exit_code {
                Some(code) => format!("`{command}` ended with exit code {code}"),
                None if result.is_error => format!("`{command}` failed"),
                None => format!("`{command}` ended"),
            };
            match body.trim() {
                "" => format!("{ending} and printed nothing."),
                _ => format!("{ending} and printed:{}", block(body)),
            }
        }
        _ if result.is_error => format!("I could not {}:{}", intent.announcement, block(body)),
        Shown::Entries => entries(body),
        Shown::Content(path) => content(path, body),
        Shown::LineCount(path) => match body.trim() {
            "1" => format!("{path} has 1 line."),
            count => format!("{path} has {count} lines."),
        },
        Shown::Sentence(sentence) => sentence.clone(),
        Shown::Answer => format!("{} answered:{}", intent.tool, block(body)),
    }
}

/// Separates what a command printed from the frame that the `bash` tool puts around it.
fn unframed<'t>(command: &str, text: &'t str) -> (&'t str, Option<i32>) {
    let framed = text.strip_prefix("$ ");
    let framed = framed.and_then(|rest| rest.strip_prefix(command)?.rsplit_once("[exit "));
    match framed {
        Some((body, note)) => {
            let code = note.split_once(']').and_then(|(code, _)| code.parse().ok());
            (body.trim_matches('\n'), code)
        }
        None => (text, None),
    }
}

fn entries(body: &str) -> String {
    let names = body.lines().filter(|line| !line.is_empty());
    let (directories, files): (Vec<&str>, Vec<&str>) = names.partition(|name| name.ends_with('/'));
    let kinds = [
        (directories, "directory", "directories"),
        (files, "file", "files"),
    ];
    let found: Vec<String> = kinds
        .iter()
        .filter(|(names, ..)| !names.is_empty())
        .map(|(names, one, many)| counted(names, if names.len() == 1 { one } else { many }))
        .collect();
    match found.is_empty() {
        true => "There is nothing in the current directory.".to_owned(),
        false => format!("In the current directory I found {}.", found.join(" and ")),
    }
}

fn counted(names: &[&str], noun: &str) -> String {
    let shown = names.get(..MAX_REPORTED_NAMES).unwrap_or(names).join(", ");
    match names.len().saturating_sub(MAX_REPORTED_NAMES) {
        0 => format!("{} {noun} ({shown})", names.len()),
        more => format!("{} {noun} ({shown} and {more} more)", names.len()),
    }
}

fn content(path: &str, text: &str) -> String {
    let lines = text.lines().count();
    let noun = if lines == 1 { "line" } else { "lines" };
    match lines {
        0 => format!("{path} is empty."),
        1..=MAX_SHOWN_LINES if text.len() <= MAX_SHOWN_BYTES => {
            format!("{path} has {lines} {noun}. It says:{}", block(text))
        }
        // The tool may have left out the end of a long file.
        _ => format!(
            "{path} has {lines} {noun} or more. It begins:{}",
            block(text)
        ),
    }
}

/// Returns the first lines of `text`, indented so that Markdown leaves them alone.
fn block(text: &str) -> String {
    let text = text.trim_matches('\n');
    let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
    let (shown, hidden) = text.split_at(end);
    let mut block = String::from("\n");
    for line in shown.lines().take(MAX_SHOWN_LINES) {
        block.push_str("\n    ");
        block.push_str(line);
    }
    if !hidden.is_empty() || shown.lines().nth(MAX_SHOWN_LINES).is_some() {
        block.push_str("\n    …");
    }
    block
}
