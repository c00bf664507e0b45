//! Items of lists, each read on its own: one that is wrong does not spoil the others.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use zot_conversation::ToolEffect;
use zot_extension_contract::accept_schema;

use super::{ListedTool, cut, cut_with_note};
use crate::connection::LegacyTask;
use crate::status::{PromptArgument, PromptInfo, ResourceInfo, ResourceTemplate};
use crate::transport::http::HeaderParameters;

/// Limit: the tool, prompt or resource is left out.
const MAX_LISTED_NAME_BYTES: usize = 256;

/// Limit: the resource is left out.
const MAX_URI_BYTES: usize = 4 * 1024;

/// Limit: the title is cut.
const MAX_TITLE_BYTES: usize = 200;

/// Limit: the tool is left out.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// Limit: further arguments of a prompt are left out.
const MAX_PROMPT_ARGUMENTS: usize = 64;

/// An item of a list.
pub(super) trait Item: Sized {
    /// The field of the result that holds the list.
    const FIELD: &'static str;
    /// What one item is called.
    const NOUN: &'static str;

    fn read(raw: &RawValue) -> Result<Self, String>;

    /// Returns how much of the limit for the whole list it takes.
    fn size(&self) -> usize;
}

#[derive(Deserialize)]
struct ToolWire<'a> {
    name: String,
    title: Option<String>,
    #[serde(borrow)]
    description: Option<Cow<'a, str>>,
    #[serde(rename = "inputSchema", borrow)]
    schema: Option<&'a RawValue>,
    annotations: Option<Annotations>,
    execution: Option<Execution>,
}

#[derive(Deserialize)]
struct Annotations {
    title: Option<String>,
    #[serde(rename = "readOnlyHint")]
    read_only: Option<bool>,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(rename = "taskSupport")]
    task_support: Option<String>,
}

impl Item for ListedTool {
    const FIELD: &'static str = "tools";
    const NOUN: &'static str = "tool";

    fn read(raw: &RawValue) -> Result<Self, String> {
        let wire: ToolWire<'_> = parse(raw)?;
        let name = checked_name(wire.name)?;
        let schema = wire.schema.map(RawValue::get);
        if schema.is_some_and(|schema| schema.len() > MAX_SCHEMA_BYTES) {
            return Err(format!(
                "{name}: its schema is longer than {MAX_SCHEMA_BYTES} bytes"
            ));
        }
        let schema = accept_schema(schema).map_err(|error| format!("{name}: schema: {error}"))?;
        let value: Value = parse(&schema.schema)?;
        let headers =
            HeaderParameters::of_schema(&value).map_err(|error| format!("{name}: {error}"))?;
        let hints = wire.annotations;
        let is_read_only = hints.as_ref().and_then(|hints| hints.read_only) == Some(true);
        let title = wire.title.or(hints.and_then(|hints| hints.title));
        let support = wire.execution.and_then(|execution| execution.task_support);
        Ok(Self {
            name,
            title: title.map(|title| cut(&title, MAX_TITLE_BYTES)),
            description: cut_with_note(wire.description.as_deref().unwrap_or_default()),
            schema: schema.schema,
            effect: match is_read_only {
                true => ToolEffect::ReadOnly,
                false => ToolEffect::Changes,
            },
            legacy_task: match support.as_deref() {
                Some("required") => LegacyTask::Required,
                _ => LegacyTask::No,
            },
            headers,
        })
    }

    fn size(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.get().len()
    }
}

#[derive(Deserialize)]
struct PromptWire {
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    arguments: Vec<ArgumentWire>,
}

#[derive(Deserialize)]
struct ArgumentWire {
    name: String,
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

impl Item for PromptInfo {
    const FIELD: &'static str = "prompts";
    const NOUN: &'static str = "prompt";

    fn read(raw: &RawValue) -> Result<Self, String> {
        let wire: PromptWire = parse(raw)?;
        let arguments = wire.arguments.into_iter().take(MAX_PROMPT_ARGUMENTS);
        Ok(Self {
            server: String::new(),
            name: checked_name(wire.name)?,
            title: wire.title.map(|title| cut(&title, MAX_TITLE_BYTES)),
            description: wire.description.as_deref().map(cut_with_note),
            arguments: arguments
                .map(|argument| {
                    Ok(PromptArgument {
                        name: checked_name(argument.name)?,
                        description: argument.description.as_deref().map(cut_with_note),
                        required: argument.required,
                    })
                })
                .collect::<Result<_, String>>()?,
        })
    }

    fn size(&self) -> usize {
        let arguments = self.arguments.iter();
        let arguments: usize = arguments
            .map(|argument| argument.name.len() + length(&argument.description))
            .sum();
        self.name.len() + length(&self.description) + arguments
    }
}

#[derive(Deserialize)]
struct ResourceWire {
    #[serde(alias = "uriTemplate")]
    uri: String,
    #[serde(default)]
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    size: Option<f64>,
}

impl ResourceWire {
    fn check(self) -> Result<Self, String> {
        if self.uri.len() > MAX_URI_BYTES || self.uri.contains(char::is_control) {
            return Err(format!(
                "{:?}: an address has at most {MAX_URI_BYTES} bytes, and no control characters",
                cut(&self.uri, MAX_TITLE_BYTES)
            ));
        }
        Ok(Self {
            uri: self.uri,
            name: cut(&self.name, MAX_LISTED_NAME_BYTES),
            title: self.title.map(|title| cut(&title, MAX_TITLE_BYTES)),
            description: self.description.as_deref().map(cut_with_note),
            mime_type: self.mime_type.map(|kind| cut(&kind, MAX_TITLE_BYTES)),
            size: self.size,
        })
    }
}

impl Item for ResourceInfo {
    const FIELD: &'static str = "resources";
    const NOUN: &'static str = "resource";

    fn read(raw: &RawValue) -> Result<Self, String> {
        let wire = parse::<ResourceWire>(raw)?.check()?;
        Ok(Self {
            server: String::new(),
            uri: wire.uri,
            name: wire.name,
            title: wire.title,
            description: wire.description,
            mime_type: wire.mime_type,
            size: wire
                .size
                .filter(|size| *size >= 0.0)
                .map(|size| size as u64),
        })
    }

    fn size(&self) -> usize {
        self.uri.len() + self.name.len() + length(&self.description)
    }
}

impl Item for ResourceTemplate {
    const FIELD: &'static str = "resourceTemplates";
    const NOUN: &'static str = "resource template";

    fn read(raw: &RawValue) -> Result<Self, String> {
        let wire = parse::<ResourceWire>(raw)?.check()?;
        Ok(Self {
            server: String::new(),
            uri_template: wire.uri,
            name: wire.name,
            title: wire.title,
            description: wire.description,
            mime_type: wire.mime_type,
        })
    }

    fn size(&self) -> usize {
        self.uri_template.len() + self.name.len() + length(&self.description)
    }
}

fn parse<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| error.to_string())
}

fn checked_name(name: String) -> Result<String, String> {
    if name.is_empty() {
        return Err("its name is empty".to_owned());
    }
    if name.len() > MAX_LISTED_NAME_BYTES {
        return Err(format!(
            "{:?}: its name is longer than {MAX_LISTED_NAME_BYTES} bytes",
            cut(&name, 40)
        ));
    }
    Ok(name)
}

fn length(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}
