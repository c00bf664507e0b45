//! Converts an extension's tool result to the agent's own type.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zot_conversation::{ContentBlock, Image, ToolOutput};
use zot_wire::extension::ToolResult;

/// Returns the result of `tool` as the model gets it. Existing programs rely on these texts.
pub(crate) fn tool_output(extension: &str, tool: &str, result: ToolResult) -> ToolOutput {
    let mut content = Vec::with_capacity(result.content.len());
    for block in result.content {
        match block.kind.as_str() {
            "text" if block.text.is_empty() => {}
            "text" => content.push(ContentBlock::Text(block.text)),
            "image" => match STANDARD.decode(block.data.as_bytes()) {
                // An image that no provider accepts would make every later request fail.
                Ok(data) => match Image::recognised(&block.mime_type, data.into()) {
                    Ok(image) => content.push(ContentBlock::Image(image)),
                    Err(error) => {
                        return ToolOutput::error(format!(
                            "extension {extension}/{tool} returned an image that models do not \
                             take: {error}"
                        ));
                    }
                },
                Err(error) => {
                    return ToolOutput::error(format!(
                        "extension {extension}/{tool} returned undecodable image: {}",
                        describe(&error)
                    ));
                }
            },
            unknown => content.push(ContentBlock::Text(format!(
                "[unknown block type {unknown:?} from extension {extension}]"
            ))),
        }
    }
    if content.is_empty() {
        content.push(ContentBlock::Text(
            "(extension returned no content)".to_owned(),
        ));
    }
    ToolOutput {
        is_error: result.is_error,
        content,
        contacts: Vec::new(),
    }
}

fn describe(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(position, _) => {
            format!("illegal base64 data at input byte {position}")
        }
        other => other.to_string(),
    }
}
