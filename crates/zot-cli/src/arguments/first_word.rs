//! The first word of a command line that is probably meant as a subcommand.
//!
//! A prompt costs money, so a mistyped subcommand must not become one. A sentence in one argument,
//! and everything after `--`, is always a prompt.

#[cfg(test)]
mod tests;

use crate::subcommands;

/// Words that people try as subcommands, and what they are looking for. Only alone: `zot models fail
/// here` is a prompt.
const OTHER_WORDS: [(&str, &str); 4] = [
    ("version", "--version"),
    ("models", "--list-models"),
    ("extension", "ext"),
    ("extensions", "ext"),
];

/// Names of at least this length count as meant even with two typing errors.
const LONG_NAME: usize = 6;

/// Before other words, only swapped letters count as an error in a name of at most this length: `zot
/// can you …` does not mean `man`.
const SHORT_NAME: usize = 3;

/// Returns the command that `words` probably mean, or `None` if they are a prompt.
pub(super) fn intended_command(words: &[String]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    let word = first.to_lowercase();
    let further = rest.iter().map(String::as_str);
    if word == "help" {
        let named = further.take(1).filter(|name| subcommands::is_known(name));
        return Some(command_line(named.chain(["--help"])));
    }
    let other = OTHER_WORDS.iter().find(|(other, _)| *other == word);
    if let (Some((_, meant)), true) = (other, rest.is_empty()) {
        return Some(command_line([*meant]));
    }
    // Of two that are as near, the one with the same letters: `rcp` is `rpc`, not `mcp`.
    let mut nearest: Vec<(usize, bool, &str)> = subcommands::NAMES
        .into_iter()
        .filter(|name| resembles(&word, name, rest))
        .map(|name| {
            let distance = strsim::osa_distance(&word, name);
            (distance, !is_shuffled(&word, name), name)
        })
        .collect();
    nearest.sort_unstable();
    let (.., name) = nearest.first()?;
    Some(command_line([*name].into_iter().chain(further)))
}

/// Returns whether `word`, before `rest`, is the subcommand `name`, its singular or plural, or a typing
/// error in it.
fn resembles(word: &str, name: &str, rest: &[String]) -> bool {
    let is_other_number =
        word.strip_suffix('s') == Some(name) || name.strip_suffix('s') == Some(word);
    match strsim::osa_distance(word, name) {
        0 => true,
        _ if is_other_number => true,
        1 if name.len() <= SHORT_NAME && !rest.is_empty() => is_shuffled(word, name),
        1 => true,
        2 => name.len() >= LONG_NAME,
        _ => false,
    }
}

/// Returns whether two words have the same letters.
fn is_shuffled(word: &str, name: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(word) == sorted(name)
}

fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = ["zot"].into_iter().chain(words).collect();
    words.join(" ")
}
