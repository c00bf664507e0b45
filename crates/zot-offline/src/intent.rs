//! The table of requests that the stand-in understands, and the tool call that each becomes.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

/// One tool call to make.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Intent {
    List,
    Read(String),
    Count(String),
    Write { path: String, content: String },
    Run(String),
    Call { tool: String, arguments: Value },
}

/// A form of request, with a `*` for each argument, and the intent of one that has these arguments.
type Form = (&'static str, fn(&[&str]) -> Option<Intent>);

const FORMS: [Form; 9] = [
    ("list the files", |_| Some(Intent::List)),
    ("list the files here", |_| Some(Intent::List)),
    ("read *", |found| word(found[0]).map(Intent::Read)),
    ("count the lines in *", |found| {
        word(found[0]).map(Intent::Count)
    }),
    ("write \"*\" to *", |found| write(found[1], found[0])),
    ("write *: *", |found| write(found[0], found[1])),
    ("run `*`", |found| run(found[0])),
    ("run:*", |found| run(found[0])),
    ("call *", |found| call(found[0])),
];

const SENTENCE_ENDS: [char; 3] = ['.', '!', '?'];

/// Returns what `prompt` asks for: one request, or several in one line that are joined by "and".
/// Empty when a part of it has none of the known forms.
pub(crate) fn intents(prompt: &str) -> Vec<Intent> {
    let prompt = without_attachments(prompt).trim_start();
    if let Some(intent) = intent(prompt) {
        return vec![intent];
    }
    let requests = prompt.trim_end().trim_end_matches(SENTENCE_ENDS);
    let intents: Option<Vec<Intent>> = requests.split(" and ").map(intent).collect();
    intents.unwrap_or_default()
}

/// Cuts off what `zot` appends to a prompt that mentions files, so that no file is run as a command.
fn without_attachments(prompt: &str) -> &str {
    let mut paragraphs = prompt.match_indices("\n\n[").map(|(start, _)| start);
    let attachments = paragraphs.find(|start| {
        let heading = prompt[*start..].trim_start().lines().next();
        heading.is_some_and(|heading| heading.contains("attached by the user"))
    });
    &prompt[..attachments.unwrap_or(prompt.len())]
}

fn intent(request: &str) -> Option<Intent> {
    let mut forms = FORMS.iter();
    forms.find_map(|(form, make)| make(&arguments(form, request)?))
}

/// Returns the parts of `request` that `form` has stars for.
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

/// Returns `text` without the `@` of a mention and the end of a sentence, if it is one word.
fn word(text: &str) -> Option<String> {
    let word = text.trim_start_matches('@').trim_end();
    let word = word.trim_end_matches(SENTENCE_ENDS);
    (!word.is_empty() && !word.contains(char::is_whitespace)).then(|| word.to_owned())
}

fn write(path: &str, content: &str) -> Option<Intent> {
    let (path, content) = (word(path)?, content.to_owned());
    Some(Intent::Write { path, content })
}

/// Takes the command unchanged, except for the space after `run:`.
fn run(command: &str) -> Option<Intent> {
    let command = command.strip_prefix(' ').unwrap_or(command).to_owned();
    (!command.trim().is_empty()).then_some(Intent::Run(command))
}

fn call(text: &str) -> Option<Intent> {
    let (tool, arguments) = text.trim_end().split_once(' ').unwrap_or((text, "{}"));
    let (tool, arguments): (_, Value) = (word(tool)?, serde_json::from_str(arguments).ok()?);
    arguments
        .is_object()
        .then_some(Intent::Call { tool, arguments })
}

impl Intent {
    /// Returns the tool to call and its arguments, a JSON object.
    pub(crate) fn call(&self) -> (&str, Value) {
        match self {
            Self::List => ("bash", json!({ "command": "ls -1Ap" })),
            Self::Read(path) => ("read", json!({ "path": path })),
            Self::Count(path) => {
                let quoted = path.replace('\'', r"'\''");
                // Unlike wc, awk counts a last line that has no line feed.
                let command = format!("awk 'END {{ print NR }}' < '{quoted}'");
                ("bash", json!({ "command": command }))
            }
            Self::Write { path, content } => ("write", json!({ "path": path, "content": content })),
            Self::Run(command) => ("bash", json!({ "command": command })),
            Self::Call { tool, arguments } => (tool, arguments.clone()),
        }
    }

    /// Completes the sentence "I will …".
    pub(crate) fn task(&self) -> String {
        match self {
            Self::List => "list the files in the current directory".to_owned(),
            Self::Read(path) => format!("read {path}"),
            Self::Count(path) => format!("count the lines in {path}"),
            Self::Write { path, content } => format!("write {}", written(path, content)),
            Self::Run(command) => format!("run `{}`", command.trim()),
            Self::Call { tool, .. } => format!("call {tool}"),
        }
    }

    /// Whether the call changes nothing, so that others can run beside it.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self, Self::List | Self::Read(_) | Self::Count(_))
    }
}

/// Describes the content of a file that is written.
pub(crate) fn written(path: &str, content: &str) -> String {
    let noun = if content.len() == 1 { "byte" } else { "bytes" };
    format!("{} {noun} to {path}", content.len())
}
