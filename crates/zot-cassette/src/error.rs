//! Errors of writing and reading cassettes.

use std::io;
use std::path::PathBuf;

use super::header::FORMAT;

#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    #[error("cannot record to {}: {source}", .path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error(
        "cannot record to {}: the file is not empty; choose another name, or remove it first",
        .path.display()
    )]
    NotEmpty { path: PathBuf },
    #[error("cannot read the cassette {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} is not a cassette: its first line is not a header (zot writes one with --record FILE)",
        .path.display()
    )]
    NotACassette { path: PathBuf },
    #[error(
        "{} has format {format}, this zot knows {FORMAT}: use a newer zot or record again",
        .path.display()
    )]
    TooNew { path: PathBuf, format: u32 },
    #[error("{} line {line}: {problem}", .path.display())]
    Line {
        path: PathBuf,
        line: usize,
        problem: LineProblem,
    },
    #[error(
        "{} has exchanges 1 to {exchanges}: none from {first} on is left to keep",
        .path.display()
    )]
    NothingToKeep {
        path: PathBuf,
        first: usize,
        exchanges: usize,
    },
    #[error("cannot rewrite {}: {source}; it is unchanged", .path.display())]
    Rewrite { path: PathBuf, source: io::Error },
}

/// What is wrong with one line of a cassette.
#[derive(Debug, thiserror::Error)]
pub enum LineProblem {
    /// The JSON error ends with the column.
    #[error("not an exchange: {0}")]
    Malformed(serde_json::Error),
    #[error(
        "the line is cut off: the recording ended in the middle of a write; keep what is whole \
         with `zot cassette trim --keep 1..{whole}`"
    )]
    Torn { whole: usize },
    #[error("the line is longer than {0} bytes")]
    TooLong(u64),
    #[error("exchange {found} where exchange {expected} is due")]
    OutOfOrder { expected: usize, found: usize },
    #[error(
        "exchange {exchange} continues exchange {base} after {messages} messages, which is not \
         there: lines were removed; use `zot cassette trim` to do so"
    )]
    MissingBase {
        exchange: usize,
        base: usize,
        messages: usize,
    },
    #[error("exchange {0} has no system prompt and continues no other exchange")]
    MissingSystem(usize),
    #[error("exchange {exchange} holds a {kind:?} event without its {field:?}")]
    IncompleteEvent {
        exchange: usize,
        kind: &'static str,
        field: &'static str,
    },
    #[error("exchange {0} failed when it was recorded, but the error is missing")]
    MissingError(usize),
}
