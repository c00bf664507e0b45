//! Arguments that a tool wants repeated in header fields (`x-mcp-header` in its schema).

use http::HeaderName;
use serde_json::{Map, Value};

use super::headers::PARAMETER_PREFIX;

const ANNOTATION: &str = "x-mcp-header";

/// How deep a schema is searched.
///
/// Limit: the tool is left out.
const MAX_SCHEMA_DEPTH: usize = 64;

/// Keywords whose values are data, not schemas.
const DATA_KEYWORDS: [&str; 4] = ["const", "default", "enum", "examples"];

/// The arguments of a tool that are repeated in headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderParameters {
    parameters: Vec<HeaderParameter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HeaderParameter {
    /// What follows `Mcp-Param-`.
    name: String,
    /// The properties that lead to the argument.
    path: Vec<String>,
}

/// Why a tool's annotations cannot be followed. The tool must not be offered then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAnnotation {
    #[error("{ANNOTATION} {0:?} is not a header name")]
    Name(String),
    #[error("{ANNOTATION} {0:?} occurs twice")]
    Twice(String),
    #[error("{ANNOTATION} {0:?} belongs to a value that is not a string, an integer or a boolean")]
    Type(String),
    #[error("{ANNOTATION} is at a place that no list of properties leads to")]
    Place,
    #[error("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels (MAX_SCHEMA_DEPTH)")]
    Depth,
}

impl HeaderParameters {
    /// Finds the annotations of an input schema.
    pub fn of_schema(schema: &Value) -> Result<Self, InvalidAnnotation> {
        let mut found = Self::default();
        found.search(schema, Some(&mut Vec::new()), 0)?;
        Ok(found)
    }

    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }

    /// Returns the names and values of the headers for a call with `arguments`. What is absent or null
    /// has none.
    pub fn values(&self, arguments: &Value) -> Vec<(String, String)> {
        let values = self.parameters.iter().filter_map(|parameter| {
            let mut path = parameter.path.iter();
            let value = path.try_fold(arguments, |value, name| value.get(name))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(value) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((parameter.name.clone(), text))
        });
        values.collect()
    }

    /// Searches a schema. `path` leads to it, unless it lies below another keyword than `properties`.
    fn search(
        &mut self,
        schema: &Value,
        mut path: Option<&mut Vec<String>>,
        depth: usize,
    ) -> Result<(), InvalidAnnotation> {
        if depth > MAX_SCHEMA_DEPTH {
            return Err(InvalidAnnotation::Depth);
        }
        match schema {
            Value::Array(items) => {
                for item in items {
                    self.search(item, None, depth + 1)?;
                }
                return Ok(());
            }
            Value::Object(_) => {}
            _ => return Ok(()),
        }
        let Some(keywords) = schema.as_object() else {
            return Ok(());
        };
        if let Some(annotation) = keywords.get(ANNOTATION) {
            let path = path.as_deref().filter(|path| !path.is_empty());
            let path = path.ok_or(InvalidAnnotation::Place)?.clone();
            self.add(annotation, keywords, path)?;
        }
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        if let Some(path) = path.as_deref_mut() {
                            path.push(name.clone());
                        }
                        self.search(property, path.as_deref_mut(), depth + 1)?;
                        if let Some(path) = path.as_deref_mut() {
                            path.pop();
                        }
                    }
                }
                // Maps of schemas, whose keys are names.
                (
                    "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                    Value::Object(schemas),
                ) => {
                    for schema in schemas.values() {
                        self.search(schema, None, depth + 1)?;
                    }
                }
                (keyword, value) if !DATA_KEYWORDS.contains(&keyword) => {
                    self.search(value, None, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        annotation: &Value,
        schema: &Map<String, Value>,
        path: Vec<String>,
    ) -> Result<(), InvalidAnnotation> {
        let name = match annotation {
            Value::String(name) => name.clone(),
            other => return Err(InvalidAnnotation::Name(other.to_string())),
        };
        let field = format!("{PARAMETER_PREFIX}{name}");
        if name.is_empty() || HeaderName::from_bytes(field.as_bytes()).is_err() {
            return Err(InvalidAnnotation::Name(name));
        }
        let same = |parameter: &HeaderParameter| parameter.name.eq_ignore_ascii_case(&name);
        if self.parameters.iter().any(same) {
            return Err(InvalidAnnotation::Twice(name));
        }
        let is_primitive =
            |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
        let is_valid = match schema.get("type") {
            Some(Value::Array(kinds)) => {
                let mut kinds = kinds.iter().filter(|kind| **kind != "null").peekable();
                kinds.peek().is_some() && kinds.all(is_primitive)
            }
            Some(kind) => is_primitive(kind),
            None => false,
        };
        if !is_valid {
            return Err(InvalidAnnotation::Type(name));
        }
        self.parameters.push(HeaderParameter { name, path });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
