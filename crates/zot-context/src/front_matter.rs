//! The YAML between two `---` lines at the beginning of a Markdown file.
//!
//! The parser supports full YAML, of which mappings, lists and strings are used. Anchors and
//! aliases are refused: they are not needed here, and they can make a small file large.

#[cfg(test)]
mod tests;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::{Map, Value};

/// The longest front matter.
///
/// Limit: the file is refused.
pub const MAX_FRONT_MATTER_BYTES: usize = 16 * 1024;

/// How deep lists and mappings may be nested.
///
/// Limit: the file is refused.
const MAX_FRONT_MATTER_DEPTH: usize = 8;

/// A Markdown file split into its two parts.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Document<'a> {
    pub(crate) fields: Map<String, Value>,
    pub(crate) body: &'a str,
}

/// A problem with front matter. Line numbers are those of the file.
#[derive(Debug, thiserror::Error)]
pub enum FrontMatterError {
    #[error("its front matter has no end: add a line with --- behind it")]
    Unclosed,
    #[error("its front matter is longer than {MAX_FRONT_MATTER_BYTES} bytes")]
    TooLong,
    #[error("line {line}: {reason}; a text with a colon or other signs needs quotes around it")]
    Syntax { line: usize, reason: String },
    #[error("line {line}: the front matter must be a list of `field: value` lines")]
    NotAMapping { line: usize },
    #[error("line {line}: {field} is there twice")]
    Duplicate { line: usize, field: String },
    #[error("line {line}: anchors and aliases (& and *) are not supported")]
    Alias { line: usize },
    #[error("line {line}: more than {MAX_FRONT_MATTER_DEPTH} levels")]
    TooDeep { line: usize },
}

/// Splits a file. Without a `---` line at its beginning, all of it is body.
pub(crate) fn split(text: &str) -> Result<Document<'_>, FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((first, rest)) = text.split_once('\n') else {
        return Ok(Document {
            body: text,
            ..Document::default()
        });
    };
    if first.trim_end() != "---" {
        return Ok(Document {
            body: text,
            ..Document::default()
        });
    }
    let mut yaml_bytes = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let (yaml, body) = rest.split_at(yaml_bytes);
            let body = body.get(line.len()..).unwrap_or_default();
            return Ok(Document {
                fields: parse(yaml)?,
                body: body.trim_start_matches(['\r', '\n']),
            });
        }
        yaml_bytes += line.len();
        if yaml_bytes > MAX_FRONT_MATTER_BYTES {
            return Err(FrontMatterError::TooLong);
        }
    }
    Err(FrontMatterError::Unclosed)
}

fn parse(yaml: &str) -> Result<Map<String, Value>, FrontMatterError> {
    let mut events = Events(Parser::new_from_str(yaml));
    loop {
        let (event, line) = events.next()?;
        return match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => continue,
            Event::MappingStart(anchor, _) => {
                refuse_anchor(anchor, line)?;
                match events.mapping(0)? {
                    Value::Object(fields) => Ok(fields),
                    _ => Err(FrontMatterError::NotAMapping { line }),
                }
            }
            // Nothing between the lines, or comments only.
            Event::StreamEnd | Event::DocumentEnd => Ok(Map::new()),
            Event::Scalar(text, ScalarStyle::Plain, ..) if text.is_empty() => Ok(Map::new()),
            _ => Err(FrontMatterError::NotAMapping { line }),
        };
    }
}

struct Events<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Events<'a> {
    /// Returns the next event and the line of the file where it begins.
    fn next(&mut self) -> Result<(Event<'a>, usize), FrontMatterError> {
        match self.0.next_event() {
            Some(Ok((event, span))) => Ok((event, line_of(span))),
            Some(Err(error)) => Err(syntax(&error)),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn value(
        &mut self,
        (event, line): (Event<'a>, usize),
        depth: usize,
    ) -> Result<Value, FrontMatterError> {
        if depth > MAX_FRONT_MATTER_DEPTH {
            return Err(FrontMatterError::TooDeep { line });
        }
        match event {
            Event::Scalar(text, style, anchor, _) => {
                refuse_anchor(anchor, line)?;
                Ok(scalar(text.into_owned(), style))
            }
            Event::SequenceStart(anchor, _) => {
                refuse_anchor(anchor, line)?;
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(items.into()),
                        item => items.push(self.value(item, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(anchor, _) => {
                refuse_anchor(anchor, line)?;
                self.mapping(depth + 1)
            }
            Event::Alias(_) => Err(FrontMatterError::Alias { line }),
            _ => Ok(Value::Null),
        }
    }

    /// Parses the rest of a mapping that has begun.
    fn mapping(&mut self, depth: usize) -> Result<Value, FrontMatterError> {
        let mut fields = Map::new();
        loop {
            let (key, line) = match self.next()? {
                (Event::MappingEnd | Event::StreamEnd, _) => return Ok(fields.into()),
                (Event::Scalar(key, _, anchor, _), line) => {
                    refuse_anchor(anchor, line)?;
                    (key.into_owned(), line)
                }
                (Event::Alias(_), line) => return Err(FrontMatterError::Alias { line }),
                (_, line) => return Err(FrontMatterError::NotAMapping { line }),
            };
            let value = self.next()?;
            let value = self.value(value, depth)?;
            if fields.contains_key(&key) {
                return Err(FrontMatterError::Duplicate { line, field: key });
            }
            fields.insert(key, value);
        }
    }
}

/// Converts a scalar. Numbers stay strings, because of versions like `1.10`.
fn scalar(text: String, style: ScalarStyle) -> Value {
    match (style, text.as_str()) {
        (ScalarStyle::Plain, "" | "~" | "null" | "Null" | "NULL") => Value::Null,
        (ScalarStyle::Plain, "true" | "True" | "TRUE") => Value::Bool(true),
        (ScalarStyle::Plain, "false" | "False" | "FALSE") => Value::Bool(false),
        _ => Value::String(text),
    }
}

fn refuse_anchor(anchor: usize, line: usize) -> Result<(), FrontMatterError> {
    match anchor {
        0 => Ok(()),
        _ => Err(FrontMatterError::Alias { line }),
    }
}

/// The `---` line comes before the first line of the YAML.
fn line_of(span: Span) -> usize {
    span.start.line() + 1
}

fn syntax(error: &ScanError) -> FrontMatterError {
    FrontMatterError::Syntax {
        line: error.marker().line() + 1,
        reason: error.info().to_owned(),
    }
}
