//! The objects of a request: files, directories, kinds of files, commands, texts.

use super::Selection;
use crate::describe::extension_of_language;
use crate::words::Word;

/// Words that point to a file or directory without being its name.
const NOT_A_NAME: &str = "a all an and are at below bytes characters code codebase content \
    contents count current directory do does \
    entries every file files directory for from has have here i in inside is line lines many me my \
    of please project repo repository source thank thanks the there they this to total \
    under up we words working you";

/// Words that stand for the file spoken of before.
const PRONOUNS: &str = "it its that them";

/// Names of files that have no extension.
const KNOWN_NAMES: [&str; 7] = [
    "README",
    "LICENSE",
    "CHANGELOG",
    "Makefile",
    "Dockerfile",
    "justfile",
    "CONTRIBUTING",
];

/// Whether a word names a file or directory beyond doubt.
pub(crate) fn looks_like_path(word: &str) -> bool {
    if word.contains("://") || word.chars().any(char::is_whitespace) {
        return false;
    }
    if KNOWN_NAMES.contains(&word) || [".", "..", "~"].contains(&word) {
        return true;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let letters = extension.chars().any(|letter| letter.is_ascii_alphabetic());
        let plain = extension
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric());
        let known_as_word = ["e.g", "i.e"].contains(&word);
        letters && plain && extension.len() <= 10 && !known_as_word && !stem.ends_with('.')
    });
    has_extension || (word.contains('/') && !["and/or", "his/her"].contains(&word))
}

/// The files that `words` name.
pub(super) fn file_arguments(words: &[Word<'_>], last_path: Option<&str>) -> Vec<String> {
    let paths = named_paths(words);
    if !paths.is_empty() {
        return paths;
    }
    if words.iter().any(|word| word.is_one_of(PRONOUNS)) {
        return last_path.map(str::to_owned).into_iter().collect();
    }
    let announced = announced_name(words).map(|word| word.text.to_owned());
    announced.into_iter().collect()
}

/// The name in "open notes", where nothing else can be meant.
pub(super) fn lone_name(words: &[Word<'_>]) -> Option<String> {
    match words {
        [only] if is_name(only) => Some(only.text.to_owned()),
        _ => None,
    }
}

/// The files and directories that `words` speak of, for lists and counts; never none.
pub(super) fn selections(words: &[Word<'_>], last_path: Option<&str>) -> Vec<Selection> {
    let kind = words.windows(2).enumerate().find_map(|(index, pair)| {
        let [kind, noun] = pair else { return None };
        let noun = noun.is_one_of("files file code sources source");
        let extension = extension(kind).filter(|_| noun)?;
        Some((index, extension))
    });
    let others: Vec<Word<'_>> = words
        .iter()
        .enumerate()
        .filter(|(index, _)| kind.as_ref().is_none_or(|(kind, _)| kind != index))
        .map(|(_, word)| *word)
        .collect();
    let extension = kind.map(|(_, extension)| extension);
    let mut paths = named_paths(&others);
    if paths.is_empty() {
        let names: Vec<&Word<'_>> = others.iter().filter(|word| is_name(word)).collect();
        let pronoun = others.iter().any(|word| word.is_one_of(PRONOUNS));
        match names.as_slice() {
            [only] => paths.push(only.text.to_owned()),
            [] if pronoun => paths.extend(last_path.map(str::to_owned)),
            _ => {}
        }
    }
    let selection = |path| Selection {
        path,
        extension: extension.clone(),
    };
    if paths.is_empty() {
        return vec![selection(None)];
    }
    paths.into_iter().map(Some).map(selection).collect()
}

/// The command that `words` spell out, in quotes or to the end of the sentence.
pub(super) fn command_argument(prompt: &str, words: &[Word<'_>]) -> Option<String> {
    if let Some(quoted) = words
        .iter()
        .find(|word| prompt_quote(prompt, word) == Some('`'))
    {
        return Some(quoted.text.trim().to_owned()).filter(|command| !command.is_empty());
    }
    let named = words.iter().position(|word| word.is_one_of("command"));
    let words = match named.filter(|index| *index <= 3) {
        Some(index) => words.get(index + 1..)?,
        None => words,
    };
    let first = words.first()?;
    if first.quoted && words.len() == 1 {
        return Some(first.text.trim().to_owned()).filter(|command| !command.is_empty());
    }
    // "Run the tests" speaks of a command without giving it.
    if first.is_one_of("the a an all my this that it some") {
        return None;
    }
    let sentence_end = words.windows(2).position(|pair| match pair {
        [last, next] => {
            let ends = last
                .after
                .is_some_and(|mark| ['.', '!', '?'].contains(&mark));
            ends && next.text.starts_with(char::is_uppercase)
        }
        _ => false,
    });
    let last = words.get(sentence_end.unwrap_or(words.len() - 1))?;
    let command = to_blank(prompt, first, last)?;
    // Marks at the end are the sentence's, but `\;` is the command's.
    let without_marks = command.trim_end_matches(['.', ',', '!', '?', ';', ':']);
    let is_marked = !without_marks.ends_with(['\\', ' ', '/']) && !without_marks.is_empty();
    Some(if is_marked { without_marks } else { command }.to_owned())
}

/// The path and the text of a file to write.
pub(super) fn write_arguments(prompt: &str, words: &[Word<'_>]) -> Option<(String, String)> {
    text_after_path(prompt, words)
        .or_else(|| text_before_path(prompt, words))
        .or_else(|| {
            let empty = words.iter().any(|word| word.is_one_of("empty"));
            let path = written_path(words).filter(|_| empty)?;
            Some((path.to_owned(), String::new()))
        })
}

/// "notes.txt with the text …", "a file notes.txt containing …", "to notes.txt: …".
fn text_after_path(prompt: &str, words: &[Word<'_>]) -> Option<(String, String)> {
    const CONNECTORS: &str = "with containing contains saying";
    let connector = words.iter().position(|word| word.is_one_of(CONNECTORS));
    let colon = words
        .iter()
        .position(|word| word.after == Some(':') && (word.quoted || looks_like_path(word.text)));
    let cut = match (connector, colon) {
        (Some(connector), Some(colon)) => connector.min(colon + 1),
        (Some(connector), None) => connector,
        (None, Some(colon)) => colon + 1,
        (None, None) => return None,
    };
    let path = written_path(words.get(..cut)?)?;
    let text = words.get(cut..)?;
    let introduction = text
        .iter()
        .take_while(|word| word.is_one_of(CONNECTORS) || introduces_text(word))
        .count();
    let text = text.get(introduction..)?;
    let content = match text {
        [] => return None,
        [first, ..] if first.quoted => first.text.to_owned(),
        [first, ..] => {
            let last = text.last().unwrap_or(first);
            to_blank(prompt, first, last)?
                .trim_end_matches(',')
                .to_owned()
        }
    };
    Some((path.to_owned(), content))
}

/// "hello to notes.txt", "the text 'hello' into the file notes.txt".
fn text_before_path(prompt: &str, words: &[Word<'_>]) -> Option<(String, String)> {
    let connector = words
        .iter()
        .rposition(|word| word.is_one_of("to into as"))?;
    let path = written_path(words.get(connector + 1..)?)?;
    let text = words.get(..connector)?;
    let introduction = text.iter().take_while(|word| introduces_text(word)).count();
    let announced = text
        .get(..introduction)?
        .iter()
        .any(|word| !word.is_one_of("the"));
    let text = text.get(introduction..)?;
    let (first, last) = (text.first()?, text.last()?);
    if first.quoted {
        return Some((path.to_owned(), first.text.to_owned()));
    }
    // "A poem" describes a text; it is not one.
    let describes = introduction > 0 && !announced;
    if describes || first.is_one_of("a an some this that it my your") {
        return None;
    }
    let content = prompt.get(first.start..last.end)?;
    Some((path.to_owned(), content.to_owned()))
}

fn introduces_text(word: &Word<'_>) -> bool {
    word.is_one_of("the text content contents word words line following")
}

fn written_path<'a>(words: &[Word<'a>]) -> Option<&'a str> {
    let likely = words.iter().find(|word| looks_like_path(word.text));
    likely
        .or_else(|| announced_name(words))
        .or_else(|| words.iter().find(|word| word.quoted))
        .map(|word| word.text)
        .filter(|path| !path.trim().is_empty())
}

/// The name in "the file notes" or "a file called notes".
fn announced_name<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w Word<'a>> {
    const ANNOUNCEMENTS: &str = "file called named";
    let mut behind = words
        .iter()
        .skip_while(|word| !word.is_one_of(ANNOUNCEMENTS))
        .skip_while(|word| word.is_one_of(ANNOUNCEMENTS));
    behind.next().filter(|word| is_name(word))
}

fn named_paths(words: &[Word<'_>]) -> Vec<String> {
    let paths = words.iter().map(|word| word.text);
    let paths = paths.filter(|text| looks_like_path(text));
    paths.map(str::to_owned).collect()
}

fn is_name(word: &Word<'_>) -> bool {
    word.quoted || !(word.is_one_of(NOT_A_NAME) || word.is_one_of(PRONOUNS))
}

fn extension(word: &Word<'_>) -> Option<String> {
    let written = word.text.strip_prefix("*.").or(word.text.strip_prefix('.'));
    let plain = written.filter(|text| text.chars().all(|letter| letter.is_ascii_alphanumeric()));
    plain
        .or_else(|| extension_of_language(word.text))
        .filter(|extension| !extension.is_empty())
        .map(str::to_owned)
}

fn prompt_quote(prompt: &str, word: &Word<'_>) -> Option<char> {
    let quote = prompt.get(word.start..)?.chars().next();
    quote.filter(|_| word.quoted)
}

/// The prompt from `first` to the blank behind `last`.
fn to_blank<'p>(prompt: &'p str, first: &Word<'_>, last: &Word<'_>) -> Option<&'p str> {
    let behind = prompt.get(last.end..)?;
    let length = behind.find(char::is_whitespace).unwrap_or(behind.len());
    prompt.get(first.start..last.end + length)
}
