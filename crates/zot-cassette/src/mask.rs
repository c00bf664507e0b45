//! What may differ between two runs that are otherwise the same: the date, the working directory, how
//! long a command took, the names of temporary files, and redacted secrets.

use std::borrow::Cow;

use super::redaction::REDACTED;

/// The wording of the system prompt, now and in older recordings.
const WORKING_DIRECTORY: [&str; 2] = ["Current working directory: ", "Working directory: "];
const DATE: &str = "Current date: ";
const LOG_NAME: &str = "zot-bash-";
const LOG_END: &str = ".log";
const DURATION: &str = "Took ";

/// Makes the texts of one run comparable with those of another.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mask<'a> {
    working_directory: Option<&'a str>,
}

impl<'a> Mask<'a> {
    /// Returns the mask of a run with this system prompt.
    pub(super) fn of(system: &'a str) -> Self {
        let line = system.lines().find_map(|line| {
            let mut labels = WORKING_DIRECTORY.iter();
            labels.find_map(|label| line.strip_prefix(label))
        });
        Self {
            // The root is a prefix of every path, so masking it would hide everything.
            working_directory: line.filter(|path| path.len() > 1),
        }
    }

    pub(super) fn system(self, system: &str) -> String {
        let masked = self.text(system);
        let lines = masked.split('\n').map(|line| {
            let mut labels = WORKING_DIRECTORY.iter().chain([&DATE]);
            let varies = labels.find(|label| line.starts_with(**label));
            match varies {
                Some(label) => Cow::Owned(format!("{label}<varies>")),
                None => Cow::Borrowed(line),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn text(self, text: &str) -> Cow<'_, str> {
        let mut masked = Cow::Borrowed(text);
        if let Some(path) = self.working_directory
            && masked.contains(path)
        {
            masked = Cow::Owned(masked.replace(path, "<working directory>"));
        }
        if masked.contains(DURATION) {
            masked = Cow::Owned(mask_durations(&masked));
        }
        if masked.contains(LOG_NAME) {
            masked = Cow::Owned(mask_logs(&masked));
        }
        masked
    }
}

/// `Took 0.1s` becomes `Took <time>`.
fn mask_durations(text: &str) -> String {
    let mut pieces = text.split(DURATION);
    let mut masked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        masked.push_str(DURATION);
        let number = piece
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(piece.len());
        match piece.get(number..).and_then(|rest| rest.strip_prefix('s')) {
            Some(rest) if number > 0 => {
                masked.push_str("<time>");
                masked.push_str(rest);
            }
            _ => masked.push_str(piece),
        }
    }
    masked
}

/// The path of a log becomes `<log>`.
fn mask_logs(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(name) = rest.find(LOG_NAME) {
        let (before, from_name) = rest.split_at(name);
        let Some(end) = from_name.find(LOG_END) else {
            break;
        };
        let path = before
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + 1);
        // A space of more than one byte cannot be cut here, and is unlikely.
        masked.push_str(before.get(..path).unwrap_or(before));
        masked.push_str("<log>");
        rest = from_name.get(end + LOG_END.len()..).unwrap_or_default();
    }
    masked.push_str(rest);
    masked
}

/// Whether two masked texts are the same; a redacted secret matches any text.
pub(super) fn same_text(recorded: &str, now: &str) -> bool {
    if recorded == now {
        return true;
    }
    let Some((first, others)) = recorded.split_once(REDACTED) else {
        return false;
    };
    let (middle, last) = match others.rsplit_once(REDACTED) {
        Some((middle, last)) => (Some(middle), last),
        None => (None, others),
    };
    let Some(mut rest) = now
        .strip_prefix(first)
        .and_then(|now| now.strip_suffix(last))
    else {
        return false;
    };
    for piece in middle.into_iter().flat_map(|middle| middle.split(REDACTED)) {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests;
