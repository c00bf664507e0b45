//! What servers return, as the model gets it: texts and images, and notes about everything else.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use zot_conversation::{ContentBlock, Image, Role, ToolOutput};

use crate::results::Results;
use crate::status::PromptMessage;
use crate::transport::CallError;

/// Limit: further images of a result become notes.
const MAX_RESULT_IMAGES: usize = 16;

/// Limit: further messages of a prompt are left out.
const MAX_PROMPT_MESSAGES: usize = 100;

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(rename = "structuredContent", borrow)]
    structured: Option<&'a RawValue>,
    #[serde(rename = "isError", default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    description: Option<String>,
    resource: Option<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    uri: String,
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

#[derive(Deserialize)]
struct ReadResult {
    #[serde(default)]
    contents: Vec<Resource>,
}

#[derive(Deserialize)]
struct PromptResult<'a> {
    #[serde(borrow, default)]
    messages: Vec<WireMessage<'a>>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    role: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Returns the result of `tools/call`.
pub(crate) fn tool_output(result: &RawValue, results: &Results) -> Result<ToolOutput, CallError> {
    let result: CallResult<'_> = read(result)?;
    let mut content = Content::new(results);
    for block in &result.content {
        content.add_block(block);
    }
    if let Some(structured) = result.structured
        && !content.says(structured)
    {
        content.add_text(structured.get().to_owned());
    }
    Ok(ToolOutput {
        is_error: result.is_error,
        content: content.finish("(the tool returned nothing)"),
        contacts: Vec::new(),
    })
}

/// Returns the result of `resources/read`.
pub(crate) fn resource(
    result: &RawValue,
    results: &Results,
) -> Result<Vec<ContentBlock>, CallError> {
    let result: ReadResult = read(result)?;
    let mut content = Content::new(results);
    for resource in result.contents {
        content.add_resource(resource);
    }
    Ok(content.finish("(the resource is empty)"))
}

/// Returns the result of `prompts/get`.
pub(crate) fn prompt(
    result: &RawValue,
    results: &Results,
) -> Result<Vec<PromptMessage>, CallError> {
    let result: PromptResult<'_> = read(result)?;
    let messages = result.messages.into_iter().take(MAX_PROMPT_MESSAGES);
    let messages = messages.map(|message| {
        let mut content = Content::new(results);
        // One block by the specification; some servers send several.
        match serde_json::from_str::<Vec<&RawValue>>(message.content.get()) {
            Ok(blocks) => blocks
                .into_iter()
                .for_each(|block| content.add_block(block)),
            Err(_) => content.add_block(message.content),
        }
        PromptMessage {
            role: match message.role.as_str() {
                "assistant" => Role::Assistant,
                _ => Role::User,
            },
            content: content.finish("(empty)"),
        }
    });
    Ok(messages.collect())
}

/// Blocks for the model.
struct Content<'a> {
    results: &'a Results,
    blocks: Vec<ContentBlock>,
    images: usize,
}

impl<'a> Content<'a> {
    fn new(results: &'a Results) -> Self {
        Self {
            results,
            blocks: Vec::new(),
            images: 0,
        }
    }

    fn add_text(&mut self, text: String) {
        if !text.is_empty() {
            self.blocks.push(ContentBlock::Text(text));
        }
    }

    fn add_block(&mut self, raw: &RawValue) {
        let block: Block = match serde_json::from_str(raw.get()) {
            Ok(block) => block,
            Err(error) => return self.add_text(format!("[a part that is not readable: {error}]")),
        };
        let mime_type = block.mime_type.unwrap_or_default();
        match (block.kind.as_str(), block.text, block.data, block.resource) {
            ("text", Some(text), _, _) => self.add_text(text),
            ("image", _, Some(data), _) => self.add_data("image", &mime_type, &data),
            ("audio", _, Some(data), _) => self.add_data("audio", &mime_type, &data),
            ("resource", _, _, Some(resource)) => self.add_resource(resource),
            ("resource_link", ..) => {
                let uri = block.uri.unwrap_or_default();
                let name = block.name.unwrap_or_default();
                let mut note = format!("[resource {name}: {uri}");
                if !mime_type.is_empty() {
                    note.push_str(&format!(" ({mime_type})"));
                }
                if let Some(description) = block.description {
                    note.push_str(&format!(", {description}"));
                }
                note.push(']');
                self.add_text(note);
            }
            (kind, ..) => {
                self.add_text(format!("[a part of kind {kind:?}, which zot cannot show]"))
            }
        }
    }

    fn add_resource(&mut self, resource: Resource) {
        let mime_type = resource.mime_type.unwrap_or_default();
        match (resource.text, resource.blob) {
            (Some(text), _) => self.add_text(text),
            (None, Some(blob)) if mime_type.starts_with("image/") => {
                self.add_data("image", &mime_type, &blob);
            }
            (None, Some(blob)) => self.add_data(&resource.uri, &mime_type, &blob),
            (None, None) => self.add_text(format!("[resource {}: empty]", resource.uri)),
        }
    }

    /// Adds an image as it is, and anything else as a file.
    fn add_data(&mut self, what: &str, mime_type: &str, base64: &str) {
        let data = match STANDARD.decode(base64.trim_ascii()) {
            Ok(data) => data,
            Err(error) => {
                return self.add_text(format!("[{what} {mime_type}: not base64: {error}]"));
            }
        };
        let bytes = data.len();
        if what == "image" && self.images < MAX_RESULT_IMAGES {
            // An image that no provider accepts would make every later request fail.
            match Image::recognised(mime_type, data.into()) {
                Ok(image) => {
                    self.images += 1;
                    self.blocks.push(ContentBlock::Image(image));
                }
                Err(error) => self.add_text(format!("[image {mime_type}, {bytes} bytes: {error}]")),
            }
            return;
        }
        let kept = self.results.keep_bytes(&data, extension(mime_type));
        self.add_text(format!("[{what} {mime_type}, {bytes} bytes: {kept}]"));
    }

    /// Whether a text has the same content as `structured`, as the specification recommends.
    fn says(&self, structured: &RawValue) -> bool {
        let texts = self.blocks.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let Ok(expected) = serde_json::from_str::<Value>(structured.get()) else {
            return false;
        };
        let texts: Vec<&str> = texts.collect();
        let is_same =
            |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value == expected);
        if texts.iter().any(|text| is_same(text)) {
            return true;
        }
        // SDKs wrap a result that is not an object, and its parts may be several texts.
        match expected.as_object().filter(|object| object.len() == 1) {
            Some(object) => match object.get("result") {
                Some(Value::String(text)) => texts.concat() == *text,
                Some(Value::Array(items)) => {
                    items.len() == texts.len()
                        && items.iter().zip(&texts).all(|(item, text)| match item {
                            Value::String(item) => item == text,
                            item => serde_json::from_str::<Value>(text)
                                .is_ok_and(|value| value == *item),
                        })
                }
                Some(result) => texts.iter().any(|text| {
                    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *result)
                }),
                None => false,
            },
            None => false,
        }
    }

    fn finish(self, empty: &str) -> Vec<ContentBlock> {
        if self.blocks.is_empty() {
            return vec![ContentBlock::Text(empty.to_owned())];
        }
        self.results.fit(self.blocks)
    }
}

/// Returns the usual end of a file's name.
fn extension(mime_type: &str) -> &'static str {
    match mime_type {
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        _ => "bin",
    }
}

fn read<'a, T: Deserialize<'a>>(result: &'a RawValue) -> Result<T, CallError> {
    serde_json::from_str(result.get())
        .map_err(|error| CallError::Invalid(format!("the result is not readable: {error}")))
}
