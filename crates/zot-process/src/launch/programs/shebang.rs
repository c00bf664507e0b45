//! Parses the first line of a script.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How much of a file the kernel reads to find the line.
pub(super) const MAX_SHEBANG_BYTES: usize = 256;

/// Returns the interpreter and, if that is `env`, the program it starts.
pub(super) fn programs(head: &[u8]) -> Vec<PathBuf> {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = words(line.get(2..).unwrap_or_default());
    let Some(interpreter) = words.next() else {
        return Vec::new();
    };
    let mut programs = vec![path(interpreter)];
    if Path::new(OsStr::from_bytes(interpreter)).file_name() == Some(OsStr::new("env")) {
        programs.extend(env_operand(words).map(path));
    }
    programs
}

/// Returns the first operand of `env`. Without `-S` the kernel passes the rest of the line as one word,
/// which does not name a program then; using its first word does no harm.
fn env_operand<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    while let Some(word) = words.next() {
        let word = word
            .strip_prefix(b"-S")
            .or_else(|| word.strip_prefix(b"-vS"))
            .or_else(|| word.strip_prefix(b"--split-string="))
            .unwrap_or(word);
        match word {
            b"" | b"-" | b"--" | b"--split-string" => {}
            b"-u" | b"--unset" | b"-C" | b"--chdir" => {
                words.next();
            }
            option if option.starts_with(b"-") => {}
            assignment if assignment.contains(&b'=') => {}
            program => return Some(unquoted(program)),
        }
    }
    None
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
        .filter(|word| !word.is_empty())
}

fn unquoted(word: &[u8]) -> &[u8] {
    for quote in [b"\"", b"'"] {
        if let Some(inner) = word
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inner;
        }
    }
    word
}

fn path(word: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(word))
}
