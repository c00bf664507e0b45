use super::*;

fn pieces(parts: &[&str]) -> Vec<Piece> {
    let mut blocks = Blocks::new();
    let mut pieces: Vec<Piece> = Vec::new();
    for part in parts {
        pieces.extend(blocks.feed((*part).to_owned()));
    }
    pieces.extend(blocks.finish());
    pieces
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

#[test]
fn blocks_keep_their_white_space_and_stray_brackets_are_text() {
    let found = pieces(&["a <<tool_c", "all>\n {1} \n</tool_call> <task>x</task>"]);
    let call = Piece::Block {
        tag: "tool_call",
        body: "\n {1} \n".to_owned(),
    };
    let task = Piece::Block {
        tag: "task",
        body: "x".to_owned(),
    };
    assert_eq!(found, [text("a <"), call, text(" "), task]);
}

#[test]
fn an_empty_text_yields_no_piece_and_an_unclosed_block_is_text() {
    let found = pieces(&["", "text ", "<tool_call>", "{\"na", "me\":", ""]);
    assert_eq!(found, [text("text "), text("<tool_call>{\"name\":")]);
    assert_eq!(pieces(&["<ta"]), [text("<ta")]);
}
