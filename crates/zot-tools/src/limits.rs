//! How much a tool result may hold, and how texts are cut to fit.

/// The most lines a result shows.
///
/// Limit: the result is cut, with a note; `bash` shows a fifth from the beginning and the rest from the end.
pub const MAX_RESULT_LINES: usize = 2_000;

/// The most bytes of content a result shows.
///
/// Limit: the result is cut, with a note; `bash` shows a fifth from the beginning and the rest from the end.
pub const MAX_RESULT_BYTES: usize = 50 * 1024;

/// `MAX_RESULT_BYTES` for people.
pub(crate) const MAX_RESULT_BYTES_TEXT: &str = "50 KiB";

/// Cuts `text` to the limits of a result, and adds a last line about it.
pub(crate) fn clip(mut text: String) -> String {
    let line_end = memchr::memchr_iter(b'\n', text.as_bytes())
        .nth(MAX_RESULT_LINES - 1)
        .map_or(text.len(), |newline| newline + 1);
    let (end, limit) = if line_end <= MAX_RESULT_BYTES {
        (line_end, format!("{MAX_RESULT_LINES} lines"))
    } else {
        (MAX_RESULT_BYTES, MAX_RESULT_BYTES_TEXT.to_owned())
    };
    if end >= text.len() {
        return text;
    }
    let mut end = text.floor_char_boundary(end);
    if let Some(newline) = text[..end].rfind('\n') {
        end = newline + 1;
    }
    text.truncate(end);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("... [truncated at {limit}]\n"));
    text
}

/// Adds a line of its own to the end of a result.
pub(crate) fn add_line(text: &mut String, line: Option<String>) {
    let Some(line) = line else {
        return;
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&line);
}

#[cfg(test)]
mod tests;
