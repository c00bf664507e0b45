//! What a prompt asks for, as far as fixed rules can tell.
//!
//! The rules rather understand too little than do something nobody asked for: a file is written
//! only when both its name and its text are given, a command is run only when it is spelt out.

use super::words::{Word, words};

mod arguments;

pub(super) use arguments::looks_like_path;
use arguments::{command_argument, file_arguments, lone_name, selections, write_arguments};

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    List(Selection),
    Read {
        path: String,
    },
    Write {
        path: String,
        content: String,
    },
    Run {
        command: String,
    },
    Count(Measure, Selection),
    Explain {
        path: String,
    },
    /// Any other tool, with the arguments spelt out.
    Call {
        tool: String,
        arguments: String,
    },
}

impl Intent {
    /// The file or directory it is about.
    fn path(&self) -> Option<&str> {
        match self {
            Self::List(selection) | Self::Count(_, selection) => selection.path.as_deref(),
            Self::Read { path } | Self::Write { path, .. } | Self::Explain { path } => Some(path),
            Self::Run { .. } | Self::Call { .. } => None,
        }
    }
}

/// Some files: one, those of a directory, or those of a kind below a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Selection {
    /// The current directory when `None`.
    pub(super) path: Option<String>,
    /// Without the dot.
    pub(super) extension: Option<String>,
}

impl Selection {
    /// Whether several files are meant rather than the one at `path`.
    pub(super) fn is_tree(&self) -> bool {
        self.extension.is_some()
            || self
                .path
                .as_deref()
                .is_none_or(|path| path.ends_with(['/', '.']))
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Files,
    Lines,
    Words,
    Bytes,
}

impl Measure {
    pub(super) fn noun(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Files, 1) => "file",
            (Self::Files, _) => "files",
            (Self::Lines, 1) => "line",
            (Self::Lines, _) => "lines",
            (Self::Words, 1) => "word",
            (Self::Words, _) => "words",
            (Self::Bytes, 1) => "byte",
            (Self::Bytes, _) => "bytes",
        }
    }
}

/// What was made of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Understanding {
    pub(super) intents: Vec<Intent>,
    pub(super) asks_for_help: bool,
    /// Some part of the prompt meant nothing to the rules.
    pub(super) not_understood: bool,
}

/// Longer prompts are not requests of the kind the rules know, and some rules take quadratic time.
const MAX_PROMPT_BYTES: usize = 16 << 10;

/// Reads a prompt.
pub(super) fn understand(prompt: &str) -> Understanding {
    let mut understanding = Understanding::default();
    if prompt.len() > MAX_PROMPT_BYTES {
        understanding.not_understood = true;
        return understanding;
    }
    if let Some(command) = prompt.trim().strip_prefix(['$', '!']) {
        let command = command.trim().to_owned();
        if !command.is_empty() {
            understanding.intents.push(Intent::Run { command });
            return understanding;
        }
    }
    if let Some(call) = spelt_out_call(prompt) {
        understanding.intents.push(call);
        return understanding;
    }
    let words = words(prompt);
    let mut last_path = None;
    for clause in clauses(prompt, &words) {
        match read_clause(prompt, clause, last_path.as_deref()) {
            Meaning::Intents(intents) => {
                let path = intents.iter().rev().find_map(Intent::path);
                last_path = path.map(str::to_owned).or(last_path);
                understanding.intents.extend(intents);
            }
            Meaning::Help => understanding.asks_for_help = true,
            Meaning::Courtesy => {}
            Meaning::Unknown => understanding.not_understood = true,
        }
    }
    understanding
}

/// `call weather {"city": "Berlin"}`: the only way to tools that the rules do not know.
fn spelt_out_call(prompt: &str) -> Option<Intent> {
    let rest = prompt.trim().strip_prefix("call ")?.trim_start();
    let end = rest.find(|character: char| {
        !(character.is_ascii_alphanumeric() || character == '_' || character == '-')
    });
    let (tool, arguments) = rest.split_at(end.unwrap_or(rest.len()));
    let arguments = match arguments.trim() {
        "" => "{}",
        given => given,
    };
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(arguments).ok()?;
    (!tool.is_empty()).then(|| Intent::Call {
        tool: tool.to_owned(),
        arguments: serde_json::Value::Object(object).to_string(),
    })
}

enum Meaning {
    Intents(Vec<Intent>),
    Help,
    /// "Hello", "thank you".
    Courtesy,
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    List,
    Read,
    Write,
    Run,
    Count,
    Explain,
    Ask,
    Help,
}

fn verb(word: &Word<'_>) -> Option<Verb> {
    if word.quoted {
        return None;
    }
    Some(match word.text.to_ascii_lowercase().as_str() {
        "list" | "ls" | "dir" => Verb::List,
        "read" | "show" | "display" | "cat" | "open" | "view" => Verb::Read,
        "write" | "create" | "save" | "put" | "make" => Verb::Write,
        "run" | "execute" => Verb::Run,
        "count" | "how" => Verb::Count,
        "explain" | "describe" | "summarize" | "summarise" => Verb::Explain,
        "what" | "what's" | "which" | "who" => Verb::Ask,
        "help" => Verb::Help,
        _ => return None,
    })
}

const CONJUNCTIONS: &str = "and then also afterwards finally";

/// Words a request may begin with before it comes to the point.
const PREAMBLE: &str = "please can could would will you now then also and first next finally i i'd want like \
    to just let's me tell afterwards hey ok so";

const COURTESIES: &str = "hi hello hey thanks thank please ok bye";

/// Cuts a prompt into requests: after a conjunction or a mark, where a new request follows.
fn clauses<'w, 'a>(prompt: &str, words: &'w [Word<'a>]) -> Vec<&'w [Word<'a>]> {
    let mut clauses = Vec::new();
    let mut begin = 0;
    for index in 1..words.len() {
        let (Some(before), Some(here)) = (words.get(index - 1), words.get(index)) else {
            break;
        };
        let (Some(clause), Some(behind)) = (words.get(begin..index), words.get(index..)) else {
            break;
        };
        let joined = here.is_one_of(CONJUNCTIONS) || before.after.is_some();
        if joined
            && !before.is_one_of(CONJUNCTIONS)
            && begins_request(behind)
            && !continues_text(prompt, clause, behind)
        {
            clauses.push(clause);
            begin = index;
        }
    }
    clauses.extend(words.get(begin..).filter(|clause| !clause.is_empty()));
    clauses
}

/// Whether `behind`, which means nothing by itself, is more of the text or command of `clause`.
fn continues_text(prompt: &str, clause: &[Word<'_>], behind: &[Word<'_>]) -> bool {
    let (clause, _) = without_preamble(clause);
    let free_text = clause
        .first()
        .and_then(verb)
        .is_some_and(|verb| [Verb::Write, Verb::Run].contains(&verb));
    free_text && matches!(read_clause(prompt, behind, Some(".")), Meaning::Unknown)
}

fn begins_request(words: &[Word<'_>]) -> bool {
    let (words, _) = without_preamble(words);
    let Some(first) = words.first() else {
        return false;
    };
    match verb(first) {
        // "which" and "who" also begin relative clauses.
        Some(Verb::Ask) => first.is_one_of("what what's"),
        Some(_) => !first.is_one_of("how") || is_how_many(words),
        None => false,
    }
}

fn is_how_many(words: &[Word<'_>]) -> bool {
    words.first().is_some_and(|word| word.is_one_of("how"))
        && words.get(1).is_some_and(|word| word.is_one_of("many"))
}

fn without_preamble<'w, 'a>(words: &'w [Word<'a>]) -> (&'w [Word<'a>], usize) {
    let skipped = words
        .iter()
        .take_while(|word| word.is_one_of(PREAMBLE))
        .count();
    (words.get(skipped..).unwrap_or_default(), skipped)
}

fn read_clause(prompt: &str, clause: &[Word<'_>], last_path: Option<&str>) -> Meaning {
    let (words, skipped) = without_preamble(clause);
    let Some((first, rest)) = words.split_first() else {
        return if skipped > 0 {
            Meaning::Courtesy
        } else {
            Meaning::Unknown
        };
    };
    if first.is_one_of(COURTESIES) {
        return if words.len() > 3 {
            Meaning::Unknown
        } else {
            Meaning::Courtesy
        };
    }
    let intents = match verb(first) {
        None => Vec::new(),
        Some(Verb::Help) => return Meaning::Help,
        Some(Verb::Ask) if asks_who_we_are(words) => return Meaning::Help,
        Some(Verb::List) => list(rest, last_path),
        Some(Verb::Run) => {
            Vec::from_iter(command_argument(prompt, rest).map(|command| Intent::Run { command }))
        }
        Some(Verb::Write) => Vec::from_iter(
            write_arguments(prompt, rest).map(|(path, content)| Intent::Write { path, content }),
        ),
        Some(Verb::Count) => count(words, last_path),
        Some(Verb::Read) => {
            let mut paths = file_arguments(rest, last_path);
            if paths.is_empty() {
                paths.extend(lone_name(rest));
            }
            look_at(paths, rest, last_path, |path| Intent::Read { path })
        }
        Some(Verb::Explain | Verb::Ask) => {
            let paths = file_arguments(rest, last_path);
            look_at(paths, rest, last_path, |path| Intent::Explain { path })
        }
    };
    if intents.is_empty() {
        return Meaning::Unknown;
    }
    Meaning::Intents(intents)
}

fn asks_who_we_are(words: &[Word<'_>]) -> bool {
    words.iter().any(|word| word.is_one_of("you")) && words.len() <= 5
}

fn list(words: &[Word<'_>], last_path: Option<&str>) -> Vec<Intent> {
    let selections = selections(words, last_path);
    selections.into_iter().map(Intent::List).collect()
}

/// Looks at each of `paths`, directories by listing them. Without any, a look at the directory answers
/// what is said about files, directories and projects in general.
fn look_at(
    paths: Vec<String>,
    words: &[Word<'_>],
    last_path: Option<&str>,
    look: impl Fn(String) -> Intent,
) -> Vec<Intent> {
    const GENERAL: &str = "files folder directory project repository repo codebase here";
    if paths.is_empty() && words.iter().any(|word| word.is_one_of(GENERAL)) {
        return list(words, last_path);
    }
    let intents = paths.into_iter().map(|path| {
        if path.ends_with(['/', '.']) {
            Intent::List(Selection {
                path: Some(path),
                extension: None,
            })
        } else {
            look(path)
        }
    });
    intents.collect()
}

fn count(words: &[Word<'_>], last_path: Option<&str>) -> Vec<Intent> {
    let Some((first, rest)) = words.split_first() else {
        return Vec::new();
    };
    if first.is_one_of("how") && !is_how_many(words) {
        return Vec::new();
    }
    // "The lines in all files" counts lines: the first noun decides.
    let measure = rest.iter().find_map(|word| {
        let measure = match word.text.to_ascii_lowercase().as_str() {
            "lines" | "line" => Measure::Lines,
            "words" => Measure::Words,
            "bytes" | "characters" => Measure::Bytes,
            "files" => Measure::Files,
            _ => return None,
        };
        (!word.quoted).then_some(measure)
    });
    let Some(measure) = measure else {
        return Vec::new();
    };
    let selections = selections(rest, last_path).into_iter();
    let intents = selections.map(|selection| Intent::Count(measure, selection));
    intents.collect()
}

#[cfg(test)]
mod tests;
