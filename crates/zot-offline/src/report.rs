//! Turns the result of a tool call into a sentence.

use zot_conversation::{ContentBlock, ToolResult};

use super::describe::describe;
use super::intent::{Intent, Measure, Selection};
use super::step::{LEFT_OUT, Step, bytes, directory, place};

const MAX_REPORTED_NAMES: usize = 20;
const MAX_SHOWN_LINES: usize = 12;
const MAX_SHOWN_BYTES: usize = 1_200;
const MAX_ERROR_BYTES: usize = 400;

/// Says what came of `step`.
pub(super) fn report(step: &Step, result: &ToolResult) -> String {
    let text = result_text(result);
    let output = Output::of(step.command.as_deref(), &text);
    if let Intent::Run { command } = &step.intent {
        return run_report(command, &output, result.is_error);
    }
    if result.is_error {
        return format!(
            "I could not {}: {}.",
            step.doing,
            clipped(output.body.trim(), MAX_ERROR_BYTES).trim_end_matches('.')
        );
    }
    match &step.intent {
        Intent::List(selection) => list_report(selection, output.body),
        Intent::Count(measure, selection) => count_report(*measure, selection, output.body),
        Intent::Write { path, content } => format!("I wrote {} to {path}.", bytes(content.len())),
        Intent::Read { path } => read_report(path, output.body),
        Intent::Explain { path } => {
            let (text, part) = without_truncation_note(output.body);
            format!("{}{}", describe(path, text), part_note(part))
        }
        Intent::Call { tool, .. } => format!("{tool} answered:{}", block(output.body)),
        Intent::Run { .. } => String::new(),
    }
}

/// Says what a tool answered when it is not known why it was called.
pub(super) fn report_unknown(result: &ToolResult) -> String {
    let word = if result.is_error {
        "failed with"
    } else {
        "answered"
    };
    format!("The tool {word}:{}", block(&result_text(result)))
}

/// `text` cut to at most `limit` bytes, marked when something is missing.
pub(super) fn clipped(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit);
    format!("{}…", text.get(..end).unwrap_or_default().trim_end())
}

/// What a command printed, without the frame the `bash` tool puts around it.
struct Output<'a> {
    body: &'a str,
    exit_code: Option<i32>,
}

impl<'a> Output<'a> {
    fn of(command: Option<&str>, text: &'a str) -> Self {
        let Some(command) = command else {
            return Self {
                body: text,
                exit_code: None,
            };
        };
        let mut body = text;
        if let Some(rest) = body.strip_prefix("$ ")
            && let Some(rest) = rest.strip_prefix(command)
        {
            body = rest;
        }
        let mut exit_code = None;
        if let Some((before, note)) = body.rsplit_once("[exit ")
            && let Some((code, _)) = note.split_once(']')
        {
            body = before;
            exit_code = code.parse().ok();
        }
        Self {
            body: body.trim_matches('\n'),
            exit_code,
        }
    }
}

fn result_text(result: &ToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn run_report(command: &str, output: &Output<'_>, is_error: bool) -> String {
    let ending = match output.exit_code {
        Some(code) => format!("`{command}` ended with exit code {code}"),
        None if is_error => format!("`{command}` failed"),
        None => format!("`{command}` ended"),
    };
    if output.body.trim().is_empty() {
        return format!("{ending} and printed nothing.");
    }
    format!("{ending} and printed:{}", block(output.body))
}

fn list_report(selection: &Selection, body: &str) -> String {
    let names: Vec<&str> = body.lines().filter(|line| !line.is_empty()).collect();
    let place = directory(selection);
    if let Some(extension) = &selection.extension {
        return match names.as_slice() {
            [] => format!(
                "I found no .{extension} file below {place}.{}",
                left_out_note()
            ),
            _ => format!(
                "I found {} .{extension} {} below {place}: {}.{}",
                names.len(),
                Measure::Files.noun(names.len() as u64),
                enumeration(&names),
                left_out_note()
            ),
        };
    }
    let (directories, files): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|name| name.ends_with('/'));
    match (directories.as_slice(), files.as_slice()) {
        ([], []) => format!("There is nothing in {place}."),
        ([], files) => format!("In {place} I found {}.", counted(files, "file", "files")),
        (directories, []) => format!(
            "In {place} I found {}.",
            counted(directories, "directory", "directories")
        ),
        (directories, files) => format!(
            "In {place} I found {} and {}.",
            counted(directories, "directory", "directories"),
            counted(files, "file", "files")
        ),
    }
}

fn counted(names: &[&str], one: &str, many: &str) -> String {
    let noun = if names.len() == 1 { one } else { many };
    format!("{} {noun} ({})", names.len(), enumeration(names))
}

fn enumeration(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().copied().take(MAX_REPORTED_NAMES).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn count_report(measure: Measure, selection: &Selection, body: &str) -> String {
    let Ok(count) = body.trim().parse::<u64>() else {
        return format!("I expected a number and got:{}", block(body));
    };
    let noun = measure.noun(count);
    if measure != Measure::Files && !selection.is_tree() {
        return format!("{} has {count} {noun}.", place(selection));
    }
    let counted = match (&selection.extension, measure) {
        (Some(extension), Measure::Files) => format!("{count} .{extension} {noun}"),
        (None, Measure::Files) => format!("{count} {noun}"),
        _ => {
            let noted = left_out_note();
            return format!("I counted {count} {noun} in {}.{noted}", place(selection));
        }
    };
    let (verb, place) = (if count == 1 { "is" } else { "are" }, directory(selection));
    format!("There {verb} {counted} below {place}.{}", left_out_note())
}

fn left_out_note() -> String {
    format!(" ({} are left out.)", LEFT_OUT.join(", "))
}

fn read_report(path: &str, body: &str) -> String {
    let (text, part) = without_truncation_note(body);
    if text.trim().is_empty() {
        return format!("{path} is empty.");
    }
    let lines = text.lines().count();
    let noun = Measure::Lines.noun(lines as u64);
    let whole = lines <= MAX_SHOWN_LINES && text.len() <= MAX_SHOWN_BYTES && part == Part::Whole;
    let begins = if whole { "It says" } else { "It begins" };
    format!(
        "{path} has {lines} {noun}{}. {begins}:{}",
        if part == Part::Beginning {
            " or more"
        } else {
            ""
        },
        block(text)
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Beginning,
}

/// Cuts off the line with which `read` says that it did not show everything.
fn without_truncation_note(text: &str) -> (&str, Part) {
    let trimmed = text.trim_end();
    let (before, last) = trimmed.rsplit_once('\n').unwrap_or(("", trimmed));
    if last.contains("[truncated") {
        (before, Part::Beginning)
    } else {
        (text, Part::Whole)
    }
}

fn part_note(part: Part) -> &'static str {
    match part {
        Part::Whole => "",
        Part::Beginning => " I was shown only its beginning, so there is more.",
    }
}

/// The first lines of `text`, indented so that Markdown leaves them alone.
fn block(text: &str) -> String {
    let text = clipped(text.trim_matches('\n'), MAX_SHOWN_BYTES);
    let mut shown = String::from("\n");
    for line in text.lines().take(MAX_SHOWN_LINES) {
        shown.push_str("\n    ");
        shown.push_str(line);
    }
    let more = text.lines().count().saturating_sub(MAX_SHOWN_LINES);
    if more > 0 {
        shown.push_str("\n    …");
    }
    shown
}
