//! Answers a request to compact a conversation: counts and quotations, no understanding.

use super::intent::looks_like_path;
use super::report::clipped;

const MAX_QUOTED: usize = 6;
const MAX_NAMED_FILES: usize = 12;
const MAX_SUMMARY_LINE_BYTES: usize = 160;

/// What the text to compact begins with.
pub(super) const CONVERSATION: &str = "<conversation>";

/// The line before what the user said, as the agent renders a conversation.
const USER_MARK: &str = "[user]";

/// A mechanical summary of the text of a conversation.
pub(super) fn summary(text: &str) -> String {
    let inner = text.trim_start().trim_start_matches(CONVERSATION);
    let inner = inner.split("</conversation>").next().unwrap_or(inner);
    let lines: Vec<&str> = inner
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let mut summary = format!(
        "Made by zot's offline stand-in by fixed rules, without a language model: \
         the conversation so far had {} lines of text.",
        lines.len()
    );
    let after_mark = lines
        .windows(2)
        .filter(|pair| matches!(pair, [USER_MARK, _]))
        .map(|pair| pair[1]);
    let asked: Vec<String> = after_mark
        .chain(lines.iter().filter_map(|line| user_text(line)))
        .map(|line| format!("- {}", clipped(line, MAX_SUMMARY_LINE_BYTES)))
        .collect();
    section(
        &mut summary,
        "The user said (the last ones):",
        last(&asked, MAX_QUOTED),
    );
    let mut files: Vec<String> = Vec::new();
    for word in inner.split(|letter: char| letter.is_whitespace() || "\"'".contains(letter)) {
        let word = word
            .trim_start_matches(|letter: char| {
                !(letter.is_alphanumeric() || "./_~".contains(letter))
            })
            .trim_end_matches(|letter: char| !(letter.is_alphanumeric() || "/_".contains(letter)));
        let line = format!("- {}", clipped(word, MAX_SUMMARY_LINE_BYTES));
        if word.len() > 2 && looks_like_path(word) && !files.contains(&line) {
            files.push(line);
        }
        if files.len() == MAX_NAMED_FILES {
            break;
        }
    }
    section(&mut summary, "Files that were mentioned:", &files);
    let end: Vec<String> = lines
        .last()
        .map(|line| format!("- {}", clipped(line, MAX_SUMMARY_LINE_BYTES)))
        .into_iter()
        .collect();
    section(&mut summary, "It ended with:", &end);
    summary
}

/// What follows a mark like `user:`, `[User]:` or `## User`.
fn user_text(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['[', '<', '#', '*', ' ']);
    let (role, rest) = line.split_at_checked("user".len())?;
    let text = rest.trim_start_matches([']', '>', ':', '*', ' ']);
    let marked = role.eq_ignore_ascii_case("user") && text.len() < rest.len();
    (marked && !text.is_empty()).then_some(text)
}

fn last(lines: &[String], count: usize) -> &[String] {
    lines
        .get(lines.len().saturating_sub(count)..)
        .unwrap_or_default()
}

fn section(summary: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    summary.push_str("\n\n");
    summary.push_str(title);
    for line in lines {
        summary.push('\n');
        summary.push_str(line);
    }
}

#[cfg(test)]
mod tests;
