//! The prompt as the command line and standard input give it.

use std::io::{self, IsTerminal as _, Read as _};
use std::time::Duration;

use zot_sdk::context::PromptDraft;
use zot_stdio::stdin_is_readable_within;

use crate::failure::Failure;
use crate::warn;

/// The longest prompt that is read from a pipe.
///
/// Limit: `-p` and `--json`: usage error.
const MAX_PIPED_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

/// How long to wait for piped text if there is a prompt already: programs that start zot often leave
/// standard input open without ever writing to it.
///
/// Limit: `-p` and `--json` with a prompt: a silent standard input is ignored, with a note.
const PIPED_PROMPT_PATIENCE: Duration = Duration::from_secs(1);

/// The word that is replaced by standard input.
const STANDARD_INPUT: &str = "-";

/// Whether standard input may be part of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandardInput {
    Read,
    Ignore,
}

/// Reads a prompt: the words of the command line and the piped text, which replaces the word `-` or
/// else comes last. Without words, the piped text counts as typed.
pub(crate) fn read(words: &[String], stdin: StandardInput) -> Result<PromptDraft, Failure> {
    let position = words.iter().position(|word| word == STANDARD_INPUT);
    let (before, after) = match position {
        Some(position) => (&words[..position], &words[position + 1..]),
        None => (words, &[][..]),
    };
    if after.iter().any(|word| word == STANDARD_INPUT) {
        return Err(Failure::usage(
            "the word - stands for standard input: use it only once",
        ));
    }
    let mut draft = PromptDraft {
        typed: before.join(" "),
        piped: None,
        typed_after: after.join(" "),
    };
    let has_words = !(draft.typed.trim().is_empty() && draft.typed_after.trim().is_empty());
    let reads = match (stdin, position) {
        (StandardInput::Ignore, Some(_)) => {
            return Err(Failure::usage(
                "the word - reads standard input, and --no-stdin ignores it: use only one of them",
            ));
        }
        (StandardInput::Ignore, None) => false,
        // The user asked to wait for the end of standard input, however long that takes.
        (StandardInput::Read, Some(_)) => true,
        (StandardInput::Read, None) if io::stdin().is_terminal() => false,
        (StandardInput::Read, None) if !has_words => true,
        (StandardInput::Read, None) => {
            let is_ready = stdin_is_ready()?;
            if !is_ready {
                warn_about_silence();
            }
            is_ready
        }
    };
    if reads {
        draft.piped = read_piped()?;
    }
    if !has_words {
        draft.typed = draft.piped.take().unwrap_or_default();
    }
    match draft.typed.is_empty() && draft.typed_after.is_empty() {
        true => Err(Failure::usage(
            "no prompt: give it as an argument or pipe it in",
        )),
        false => Ok(draft),
    }
}

/// Waits briefly, and returns whether standard input has data or has ended.
pub(crate) fn stdin_is_ready() -> io::Result<bool> {
    stdin_is_readable_within(PIPED_PROMPT_PATIENCE)
}

/// Warns that a slow producer was not waited for.
fn warn_about_silence() {
    let seconds = PIPED_PROMPT_PATIENCE.as_secs();
    warn(&[format!(
        "standard input was silent for {seconds} s, so it is not part of the prompt; -n skips this \
         wait, and the word - waits for the end of standard input"
    )]);
}

/// Reads standard input to its end; blank input counts as none.
fn read_piped() -> Result<Option<String>, Failure> {
    let mut piped = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_PIPED_PROMPT_BYTES + 1)
        .read_to_end(&mut piped)?;
    if piped.len() as u64 > MAX_PIPED_PROMPT_BYTES {
        return Err(Failure::usage(format!(
            "standard input has more than {MAX_PIPED_PROMPT_BYTES} bytes: let the agent read a file instead"
        )));
    }
    let piped = String::from_utf8(piped).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        Failure::usage(format!("standard input is not UTF-8 at byte {position}"))
    })?;
    Ok(Some(piped).filter(|piped| !piped.trim().is_empty()))
}
