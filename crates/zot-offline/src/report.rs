//! Puts the result of a tool call into words.

use zot_conversation::{ToolResult, joined_text};

use crate::intent::{Intent, written};

const MAX_LISTED_NAMES: usize = 20;
const MAX_SHOWN_LINES: usize = 12;
const MAX_SHOWN_BYTES: usize = 1_200;

/// Describes the result of `intent`; `None` when it is unknown why the tool was called.
pub(crate) fn report(intent: Option<&Intent>, result: &ToolResult) -> String {
    let text = joined_text(&result.content);
    let Some(intent) = intent else {
        return format!("The tool answered:{}", block(&text));
    };
    let (body, exit_code) = without_frame(intent, &text);
    match intent {
        Intent::Run(command) => {
            let command = command.trim();
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
        _ if result.is_error => format!("I could not {}:{}", intent.task(), block(body)),
        Intent::List => entries(body),
        Intent::Read(path) => content(path, body),
        Intent::Count(path) => match body.trim() {
            "1" => format!("{path} has 1 line."),
            count => format!("{path} has {count} lines."),
        },
        Intent::Write { path, content } => format!("I wrote {}.", written(path, content)),
        Intent::Call { tool, .. } => format!("{tool} answered:{}", block(body)),
    }
}

/// Separates the output of a command from the frame that the `bash` tool puts around it.
fn without_frame<'t>(intent: &Intent, text: &'t str) -> (&'t str, Option<i32>) {
    let (_, arguments) = intent.call();
    let command = arguments["command"].as_str().unwrap_or_default();
    let framed = text.strip_prefix("$ ");
    match framed.and_then(|rest| rest.strip_prefix(command)?.rsplit_once("[exit ")) {
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
    let found = [
        counted(&directories, "directory", "directories"),
        counted(&files, "file", "files"),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    match found.is_empty() {
        true => "There is nothing in the current directory.".to_owned(),
        false => format!("In the current directory I found {}.", found.join(" and ")),
    }
}

fn counted(names: &[&str], one: &str, many: &str) -> Option<String> {
    let noun = if names.len() == 1 { one } else { many };
    let shown = names.get(..MAX_LISTED_NAMES).unwrap_or(names).join(", ");
    match names.len() {
        0 => None,
        count if count <= MAX_LISTED_NAMES => Some(format!("{count} {noun} ({shown})")),
        count => {
            let more = count - MAX_LISTED_NAMES;
            Some(format!("{count} {noun} ({shown} and {more} more)"))
        }
    }
}

fn content(path: &str, text: &str) -> String {
    let lines = text.lines().count();
    let noun = if lines == 1 { "line" } else { "lines" };
    let shown = block(text);
    match lines {
        0 => format!("{path} is empty."),
        1..=MAX_SHOWN_LINES if text.len() <= MAX_SHOWN_BYTES => {
            format!("{path} has {lines} {noun}. It says:{shown}")
        }
        // The tool may have left out the end of a long file.
        _ => format!("{path} has {lines} {noun} or more. It begins:{shown}"),
    }
}

/// Returns the first lines of `text`, indented so that Markdown does not interpret them.
fn block(text: &str) -> String {
    let text = text.trim_matches('\n');
    let (shown, hidden) = text.split_at(text.floor_char_boundary(MAX_SHOWN_BYTES));
    let mut lines = shown.lines();
    let indented = lines.by_ref().take(MAX_SHOWN_LINES);
    let mut block: String = indented.map(|line| format!("\n    {line}")).collect();
    if !hidden.is_empty() || lines.next().is_some() {
        block.push_str("\n    …");
    }
    format!("\n{block}")
}
