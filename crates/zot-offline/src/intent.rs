//! The table of requests that the stand-in understands, and the tool call that each one becomes.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

/// One tool call to make.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Intent {
    pub(crate) tool: String,
    /// A JSON object.
    pub(crate) arguments: Value,
    /// Completes the sentence "I will …".
    pub(crate) announcement: String,
    pub(crate) shown: Shown,
}

/// How the result of a call is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As the entries of the current directory.
    Entries,
    /// As the content of this file.
    Content(String),
    /// As the number of lines of this file.
    LineCount(String),
    /// As this sentence.
    Sentence(String),
    /// As the output of this command.
    Output(String),
    Answer,
}

/// A form of request, with a `*` for each argument, and what is made of the arguments.
type Form = (&'static str, fn(&[&str]) -> Option<Intent>);

const FORMS: [Form; 9] = [
    ("list the files", |_| Some(list())),
    ("list the files here", |_| Some(list())),
    ("read *", |found| Some(read(word(found[0])?))),
    ("count the lines in *", |found| Some(count(word(found[0])?))),
    ("write \"*\" to *", |found| {
        Some(write(word(found[1])?, found[0]))
    }),
    ("write *: *", |found| Some(write(word(found[0])?, found[1]))),
    ("run `*`", |found| run(found[0])),
    ("run: *", |found| run(found[0])),
    ("call *", |found| call(found[0])),
];

const SENTENCE_ENDS: [char; 3] = ['.', '!', '?'];

/// Returns what `prompt` asks for: one request, or several in one line that are joined by "and".
/// Empty when a part of it has none of the known forms.
pub(crate) fn intents(prompt: &str) -> Vec<Intent> {
    let prompt = prompt.trim();
    if let Some(intent) = intent(prompt) {
        return vec![intent];
    }
    // Attached files stand below the line that was typed.
    let line = prompt.lines().next().unwrap_or_default().trim();
    let requests = line.trim_end_matches(SENTENCE_ENDS).split(" and ");
    let intents: Option<Vec<Intent>> = requests.map(intent).collect();
    intents.unwrap_or_default()
}

fn intent(request: &str) -> Option<Intent> {
    let mut forms = FORMS.iter();
    forms.find_map(|(form, make)| make(&arguments(form, request)?))
}

/// Returns what stands in `request` where `form` has its stars.
fn arguments<'r>(form: &str, request: &'r str) -> Option<Vec<&'r str>> {
    let mut literals = form.split('*').peekable();
    let start = literals.next()?;
    let (beginning, mut rest) = request.split_at_checked(start.len())?;
    let mut arguments = Vec::new();
    while let Some(literal) = literals.next() {
        let (argument, after) = match literals.peek() {
            Some(_) => rest.split_once(literal)?,
            None => (rest.strip_suffix(literal)?, ""),
        };
        arguments.push(argument);
        rest = after;
    }
    (beginning.eq_ignore_ascii_case(start) && rest.is_empty()).then_some(arguments)
}

/// Returns `text` without the mark of a mention and the end of a sentence, if it is one word.
fn word(text: &str) -> Option<&str> {
    let word = text.trim_start_matches('@').trim_end_matches(SENTENCE_ENDS);
    (!word.is_empty() && !word.contains(char::is_whitespace)).then_some(word)
}

fn intent_of(tool: &str, arguments: Value, announcement: String, shown: Shown) -> Intent {
    Intent {
        tool: tool.to_owned(),
        arguments,
        announcement,
        shown,
    }
}

fn list() -> Intent {
    let announcement = "list the files in the current directory".to_owned();
    let arguments = json!({ "command": "ls -1Ap" });
    intent_of("bash", arguments, announcement, Shown::Entries)
}

fn read(path: &str) -> Intent {
    let shown = Shown::Content(path.to_owned());
    intent_of(
        "read",
        json!({ "path": path }),
        format!("read {path}"),
        shown,
    )
}

fn count(path: &str) -> Intent {
    let quoted = path.replace('\'', r"'\''");
    // Unlike wc, awk counts a last line that has no line feed.
    let arguments = json!({ "command": format!("awk 'END {{ print NR }}' < '{quoted}'") });
    let announcement = format!("count the lines in {path}");
    intent_of(
        "bash",
        arguments,
        announcement,
        Shown::LineCount(path.to_owned()),
    )
}

fn write(path: &str, content: &str) -> Intent {
    let noun = if content.len() == 1 { "byte" } else { "bytes" };
    let written = format!("{} {noun} to {path}", content.len());
    let shown = Shown::Sentence(format!("I wrote {written}."));
    let arguments = json!({ "path": path, "content": content });
    intent_of("write", arguments, format!("write {written}"), shown)
}

fn run(command: &str) -> Option<Intent> {
    let command = command.trim();
    let arguments = json!({ "command": command });
    let shown = Shown::Output(command.to_owned());
    (!command.is_empty()).then(|| intent_of("bash", arguments, format!("run `{command}`"), shown))
}

fn call(text: &str) -> Option<Intent> {
    let (tool, arguments) = text.split_once(' ').unwrap_or((text, "{}"));
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let is_call = word(tool).is_some() && arguments.is_object();
    is_call.then(|| intent_of(tool, arguments, format!("call {tool}"), Shown::Answer))
}
