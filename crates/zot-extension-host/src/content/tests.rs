use zot_wire::extension::ResultBlock;

use super::*;

fn block(kind: &str, text: &str, data: &str) -> ResultBlock {
    ResultBlock {
        kind: kind.to_owned(),
        text: text.to_owned(),
        mime_type: "image/png".to_owned(),
        data: data.to_owned(),
    }
}

fn output(content: Vec<ResultBlock>) -> ToolOutput {
    let result = ToolResult {
        id: "1".to_owned(),
        content,
        is_error: false,
    };
    tool_output("probe", "t", result)
}

#[test]
fn blocks_become_what_the_recordings_show() {
    assert_eq!(
        output(vec![block("text", "a", ""), block("text", "", "")]),
        ToolOutput::text("a")
    );
    assert_eq!(
        output(vec![]),
        ToolOutput::text("(extension returned no content)")
    );
    assert_eq!(
        output(vec![block("video", "v", "")]),
        ToolOutput::text("[unknown block type \"video\" from extension probe]")
    );
    assert_eq!(
        output(vec![block("image", "", "@@@")]),
        ToolOutput::error(
            "extension probe/t returned undecodable image: illegal base64 data at input byte 0"
        )
    );
    assert_eq!(
        output(vec![block("image", "", "AAEC")]),
        ToolOutput::error(
            "extension probe/t returned an image that models do not take: expected a PNG, JPEG, GIF \
             or WebP image, got 3 bytes of another kind, declared as \"image/png\": convert it first"
        )
    );
    // Declared as one format but another by its bytes, which providers go by.
    let ToolOutput { content, .. } = output(vec![block("image", "", "R0lGODlhAQABAAAAACw=")]);
    let [ContentBlock::Image(image)] = content.as_slice() else {
        panic!("{content:?}");
    };
    assert_eq!(image.mime_type, "image/gif");
}
