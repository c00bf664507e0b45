//! YAML as a value. Anchors and aliases are refused: they can make a small file large.

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// How deep lists and mappings of an imported file may be nested.
///
/// Limit: the file is not imported from, with a message.
const MAX_YAML_DEPTH: usize = 32;

pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut events = Events(Parser::new_from_str(text));
    loop {
        let next = events.next()?;
        match next.0 {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Value::Null),
            _ => return events.value(next, 0),
        }
    }
}

struct Events<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Events<'a> {
    /// Returns the next event and its line.
    fn next(&mut self) -> Result<(Event<'a>, usize), String> {
        match self.0.next_event() {
            Some(Ok((event, span))) => Ok((event, span.start.line())),
            Some(Err(error)) => Err(format!("line {}: {}", error.marker().line(), error.info())),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn value(&mut self, (event, line): (Event<'a>, usize), depth: usize) -> Result<Value, String> {
        if depth > MAX_YAML_DEPTH {
            return Err(format!("line {line}: more than {MAX_YAML_DEPTH} levels"));
        }
        match event {
            Event::Scalar(text, style, ..) => Ok(scalar(text.into_owned(), style)),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(items.into()),
                        item => items.push(self.value(item, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut fields = Map::new();
                loop {
                    let key = match self.next()? {
                        (Event::MappingEnd | Event::StreamEnd, _) => return Ok(fields.into()),
                        (Event::Scalar(key, ..), _) => key.into_owned(),
                        (_, line) => return Err(format!("line {line}: expected a name")),
                    };
                    let value = self.next()?;
                    fields.insert(key, self.value(value, depth + 1)?);
                }
            }
            Event::Alias(_) => Err(format!("line {line}: aliases are not supported")),
            _ => Ok(Value::Null),
        }
    }
}

/// Converts a scalar; numbers stay texts.
fn scalar(text: String, style: ScalarStyle) -> Value {
    match (style, text.as_str()) {
        (ScalarStyle::Plain, "" | "~" | "null" | "Null" | "NULL") => Value::Null,
        (ScalarStyle::Plain, "true" | "True" | "TRUE") => Value::Bool(true),
        (ScalarStyle::Plain, "false" | "False" | "FALSE") => Value::Bool(false),
        _ => Value::String(text),
    }
}
