//! What a request comes to: one tool call, and the words that announce it.

use serde_json::json;

use super::intent::{Intent, Measure, Selection};

/// One tool call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) intent: Intent,
    pub(super) tool: String,
    /// A JSON object.
    pub(super) arguments: String,
    /// The shell command, when the tool is `bash`.
    pub(super) command: Option<String>,
    /// Completes the sentence "I will …".
    pub(super) doing: String,
}

/// What neither lists nor counts include, because nobody means it.
pub(super) const LEFT_OUT: [&str; 3] = [".git", "target", "node_modules"];

impl Step {
    pub(super) fn new(intent: Intent) -> Self {
        match &intent {
            Intent::List(selection) => {
                let command = list_command(selection);
                let doing = format!("list {}", described(selection));
                Self::bash(intent, command, doing)
            }
            Intent::Count(measure, selection) => {
                let command = count_command(*measure, selection);
                let doing = match measure {
                    Measure::Files => format!("count {}", described(selection)),
                    _ => format!("count the {} in {}", measure.noun(2), place(selection)),
                };
                Self::bash(intent, command, doing)
            }
            Intent::Run { command } => {
                let doing = format!("run `{command}`");
                let command = command.clone();
                Self::bash(intent, command, doing)
            }
            Intent::Read { path } => {
                let (arguments, doing) = (json!({ "path": path }), format!("read {path}"));
                Self::other(intent, "read", arguments, doing)
            }
            Intent::Explain { path } => {
                let arguments = json!({ "path": path });
                let doing = format!("read {path} to describe it");
                Self::other(intent, "read", arguments, doing)
            }
            Intent::Write { path, content } => {
                let arguments = json!({ "path": path, "content": content });
                let doing = format!("write {} to {path}", bytes(content.len()));
                Self::other(intent, "write", arguments, doing)
            }
            Intent::Call { tool, arguments } => Self {
                tool: tool.clone(),
                arguments: arguments.clone(),
                command: None,
                doing: format!("call {tool}"),
                intent,
            },
        }
    }

    /// Whether the call changes nothing, so that others may be asked for in the same breath.
    pub(super) fn only_looks(&self) -> bool {
        !matches!(
            self.intent,
            Intent::Write { .. } | Intent::Run { .. } | Intent::Call { .. }
        )
    }

    fn bash(intent: Intent, command: String, doing: String) -> Self {
        Self {
            intent,
            tool: "bash".to_owned(),
            arguments: json!({ "command": command }).to_string(),
            command: Some(command),
            doing,
        }
    }

    fn other(intent: Intent, tool: &str, arguments: serde_json::Value, doing: String) -> Self {
        Self {
            intent,
            tool: tool.to_owned(),
            arguments: arguments.to_string(),
            command: None,
            doing,
        }
    }
}

fn list_command(selection: &Selection) -> String {
    if selection.extension.is_some() {
        return format!("{} | sort", find_command(selection));
    }
    match &selection.path {
        Some(path) => format!("ls -1Ap -- {}", shell_quoted(path)),
        None => "ls -1Ap".to_owned(),
    }
}

fn count_command(measure: Measure, selection: &Selection) -> String {
    // awk counts a last line that has no line feed; wc does not.
    let counter = match measure {
        Measure::Files => return format!("{} | wc -l", find_command(selection)),
        Measure::Lines => "awk 'END { print NR }'",
        Measure::Words => "wc -w",
        Measure::Bytes => "wc -c",
    };
    match &selection.path {
        Some(path) if !selection.is_tree() => format!("{counter} < {}", shell_quoted(path)),
        _ => {
            // A file without a last line feed must not run into the next one.
            let printer = match measure {
                Measure::Bytes => "cat",
                _ => "awk 1",
            };
            let files = find_command(selection);
            format!("{files} -exec {printer} {{}} + | {counter}")
        }
    }
}

fn find_command(selection: &Selection) -> String {
    let root = match &selection.path {
        // find would take a leading minus for an option.
        Some(path) if path.starts_with('-') => shell_quoted(&format!("./{path}")),
        Some(path) => shell_quoted(path),
        None => ".".to_owned(),
    };
    let mut command = format!("find {root} -type f");
    for directory in LEFT_OUT {
        command.push_str(&format!(" -not -path '*/{directory}/*'"));
    }
    if let Some(extension) = &selection.extension {
        let pattern = shell_quoted(&format!("*.{extension}"));
        command.push_str(&format!(" -name {pattern}"));
    }
    command
}

/// `word` as a single word that a shell takes literally.
fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// "the files in src", "the .rs files below the current directory".
fn described(selection: &Selection) -> String {
    match &selection.extension {
        Some(extension) => format!("the .{extension} files below {}", directory(selection)),
        None => format!("the files in {}", directory(selection)),
    }
}

/// "README.md", "the .rs files below src", "the files in the current directory".
pub(super) fn place(selection: &Selection) -> String {
    match &selection.path {
        Some(path) if !selection.is_tree() => path.clone(),
        _ => described(selection),
    }
}

pub(super) fn directory(selection: &Selection) -> &str {
    selection.path.as_deref().unwrap_or("the current directory")
}

pub(super) fn bytes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "byte" } else { "bytes" })
}

#[cfg(test)]
mod tests;
