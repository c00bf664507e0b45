//! `--resume`: with the id of a session or, as in the original, without one; the prompt may follow
//! it.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::AsFd as _;

use clap::ArgMatches;
use zot_sdk::Workspace;
use zot_sdk::sessions::{self, FindError};

use super::Arguments;
use crate::failure::Failure;
use crate::prompt_input::stdin_is_ready;
use crate::sessions_command::{self, Columns};
use crate::warn;

/// The longest line that is read as the number of a session.
///
/// Limit: `-p --resume`: the line is not a session number.
const MAX_SESSION_NUMBER_BYTES: usize = 64;

/// Which session to continue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Resume {
    #[default]
    New,
    /// One the user picks from a list.
    Pick,
    /// The one with this id or path.
    Session(String),
}

/// The positions of the words and of the values of `--resume` on the command line.
#[derive(Debug, Default)]
pub(super) struct Positions {
    words: Vec<usize>,
    resumed: Vec<usize>,
}

/// What a value of `--resume` means.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Session,
    /// Part of the prompt.
    Prompt,
    /// Probably a mistyped id or path.
    Mistake,
}

impl Arguments {
    pub(super) fn note_positions(&mut self, matches: &ArgMatches) {
        let positions = |name| matches.indices_of(name).into_iter().flatten().collect();
        self.positions = Positions {
            words: positions("words"),
            resumed: positions("resume"),
        };
    }

    /// Separates sessions from words of the prompt, and applies the precedence of the session flags.
    pub(super) fn resolve_resume(&mut self) -> Result<(), Failure> {
        if let Some(values) = self.session.resume.take() {
            self.session.resumes = Resume::Pick;
            self.take_resumed(values)?;
        }
        let is_named = matches!(self.session.resumes, Resume::Session(_));
        let is_elsewhere = self.session.continue_newest || self.session.session.is_some();
        if is_named && is_elsewhere && !self.session.no_session {
            return Err(Failure::usage(
                "--resume ID cannot be combined with --continue or --session: each chooses a session",
            ));
        }
        if self.session.fork && !is_elsewhere && self.session.resumes == Resume::New {
            return Err(Failure::usage(
                "--fork needs a session to copy: add --continue, --resume ID or --session PATH",
            ));
        }
        if self.session.no_session || is_elsewhere {
            self.session.resumes = Resume::New;
        }
        Ok(())
    }

    fn take_resumed(&mut self, values: Vec<String>) -> Result<(), Failure> {
        let workspace = Workspace::of_process();
        let positions = std::mem::take(&mut self.positions);
        let words = std::mem::take(&mut self.words);
        let mut words: Vec<_> = positions.words.into_iter().zip(words).collect();
        for (position, value) in positions.resumed.into_iter().zip(values) {
            let found = sessions::find(&workspace, &value);
            match meaning(&value, found.as_ref().err()) {
                Meaning::Session => self.session.resumes = Resume::Session(value),
                Meaning::Prompt => {
                    if !value.is_empty() && !value.contains(char::is_whitespace) {
                        self.resumed_words.push(value.clone());
                    }
                    words.push((position, value));
                }
                Meaning::Mistake => {
                    return Err(Failure::usage(format!(
                        "no session {value:?}: `zot sessions list --all` lists all sessions; to start the \
                         prompt with this word, put -- before it"
                    )));
                }
            }
        }
        words.sort_by_key(|(position, _)| *position);
        self.words = words.into_iter().map(|(_, word)| word).collect();
        // An empty value means that none was given.
        self.words.retain(|word| !word.is_empty());
        Ok(())
    }

    /// Lets the user pick the session to continue by a number on standard input, as in the original.
    pub(super) fn pick_session(&mut self) -> Result<(), Failure> {
        if self.session.resumes != Resume::Pick {
            return Ok(());
        }
        let summaries = sessions_command::of_directory(self.cwd.as_deref());
        if summaries.is_empty() {
            warn(&["no session in this directory yet: starting the first one"]);
            self.session.resumes = Resume::New;
            return Ok(());
        }
        let asks = io::stdin().is_terminal() && !self.streams.no_stdin;
        if asks {
            sessions_command::offer(&summaries, Columns::Numbered);
            // If standard error is closed, the number can still be typed.
            let _ = write!(zot_terminal::stderr(), "number: ");
        }
        let number = match self.streams.no_stdin {
            true => None,
            false => read_number()?,
        };
        let picked = number.and_then(|number| summaries.get(number.checked_sub(1)?));
        let Some(picked) = picked else {
            if !asks {
                sessions_command::offer(&summaries, Columns::Here);
            }
            return Err(self.unpicked());
        };
        self.session.resumes = Resume::Session(picked.path.display().to_string());
        Ok(())
    }

    /// Lists the sessions where the user cannot pick one, and returns the error.
    pub(super) fn unnamed_session(&self) -> Failure {
        let summaries = sessions_command::of_directory(self.cwd.as_deref());
        sessions_command::offer(&summaries, Columns::Here);
        self.unpicked()
    }

    fn unpicked(&self) -> Failure {
        // Perhaps it was meant as an id.
        let mistaken = self
            .resumed_words
            .iter()
            .map(|word| format!("no session {word:?}, so this word is part of the prompt; "));
        Failure::usage(format!(
            "{}which session? Name it with --resume ID (the beginning of the id is enough), or use \
             --continue for the newest of this directory",
            mistaken.collect::<String>()
        ))
    }
}

/// Tells a mistyped id, which must not be sent to a model, from a prompt.
fn meaning(value: &str, problem: Option<&FindError>) -> Meaning {
    match problem {
        // An ambiguous or unreadable session is reported when it is opened.
        None | Some(FindError::Ambiguous { .. }) => Meaning::Session,
        Some(_) if value.trim().is_empty() || value.contains(char::is_whitespace) => {
            Meaning::Prompt
        }
        Some(FindError::Unreadable { .. } | FindError::NotAFile { .. }) => Meaning::Session,
        Some(_) => {
            let is_path = value.contains(['/', '\\']) || value.ends_with(".jsonl");
            let is_hex = |character: char| character.is_ascii_hexdigit() || character == '-';
            let is_like_hex =
                |character: char| character.is_ascii_alphanumeric() || character == '-';
            let has_digit = value.contains(|character: char| character.is_ascii_digit());
            let is_id = value.chars().all(is_hex) || has_digit && value.chars().all(is_like_hex);
            match is_path || is_id {
                true => Meaning::Mistake,
                false => Meaning::Prompt,
            }
        }
    }
}

/// Reads one line, and not a byte more: the rest is part of the prompt.
fn read_number() -> io::Result<Option<usize>> {
    let is_terminal = io::stdin().is_terminal();
    let mut line = Vec::new();
    let mut byte = [0];
    // The standard handle would read ahead.
    let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    while line.len() < MAX_SESSION_NUMBER_BYTES && (is_terminal || stdin_is_ready()?) {
        if stdin.read(&mut byte)? == 0 || byte[0] == b'\n' {
            break;
        }
        line.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&line);
    Ok(text.trim().parse().ok())
}
