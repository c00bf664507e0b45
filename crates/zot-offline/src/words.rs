//! Cuts a prompt into words; what is in quotes stays together.

/// One word of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// Without quotes and without the punctuation around it.
    pub(super) text: &'a str,
    pub(super) quoted: bool,
    /// The punctuation right after it; `\n` when the line ends.
    pub(super) after: Option<char>,
    /// Where the word begins in the prompt, a quote or bracket before it included.
    pub(super) start: usize,
    /// Where it ends, its closing quote included, punctuation not.
    pub(super) end: usize,
}

impl Word<'_> {
    /// Whether this is one of `words`, which blanks separate, in any case and not quoted.
    pub(super) fn is_one_of(&self, words: &str) -> bool {
        let mut words = words.split_ascii_whitespace();
        !self.quoted && words.any(|word| self.text.eq_ignore_ascii_case(word))
    }
}

const PUNCTUATION: [char; 7] = ['.', ',', ';', ':', '!', '?', ')'];

/// The words of `prompt` in order.
pub(super) fn words(prompt: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut position = 0;
    while let Some(rest) = prompt.get(position..) {
        let blank = rest.len() - rest.trim_start().len();
        if rest.get(..blank).is_some_and(|gap| gap.contains('\n'))
            && let Some(last) = words.last_mut()
        {
            last.after = last.after.or(Some('\n'));
        }
        let start = position + blank;
        let Some(rest) = prompt.get(start..).filter(|rest| !rest.is_empty()) else {
            break;
        };
        let (word, next) = quoted(rest, start).unwrap_or_else(|| plain(rest, start));
        position = next;
        if !word.text.is_empty() || word.quoted {
            words.push(word);
        }
    }
    words
}

/// A quoted word at the beginning of `rest`, and where to go on. A quote that is not closed is an
/// ordinary character.
fn quoted(rest: &str, start: usize) -> Option<(Word<'_>, usize)> {
    let quote = rest
        .chars()
        .next()
        .filter(|first| ['\'', '"', '`'].contains(first))?;
    let inner = rest.get(1..)?;
    let length = inner.match_indices(quote).find_map(|(index, _)| {
        let next = inner.get(index + 1..)?.chars().next();
        let closes = next.is_none_or(|next| next.is_whitespace() || PUNCTUATION.contains(&next));
        closes.then_some(index)
    })?;
    let behind = inner.get(length + 1..)?;
    let marks = behind.len() - behind.trim_start_matches(PUNCTUATION).len();
    let end = start + length + 2;
    let word = Word {
        text: inner.get(..length)?,
        quoted: true,
        after: behind.chars().next().filter(|_| marks > 0),
        start,
        end,
    };
    Some((word, end + marks))
}

fn plain(rest: &str, start: usize) -> (Word<'_>, usize) {
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let whole = rest.get(..length).unwrap_or(rest);
    let trimmed = whole.trim_end_matches(PUNCTUATION);
    let marks = whole.get(trimmed.len()..).unwrap_or_default();
    // `.` and `src/..` are directories, not ends of sentences.
    let is_directory =
        matches!(marks, "." | "..") && (trimmed.is_empty() || trimmed.ends_with('/'));
    let text = if is_directory { whole } else { trimmed };
    let word = Word {
        text: text.trim_start_matches('('),
        quoted: false,
        after: marks.chars().next().filter(|_| !is_directory),
        start,
        end: start + text.len(),
    };
    (word, start + length)
}

#[cfg(test)]
mod tests;
