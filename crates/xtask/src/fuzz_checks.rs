//! Properties that must hold for every input. Each function takes arbitrary bytes and panics if its
//! property is violated; the targets of `fuzz/` and ordinary tests call the same functions.
//!
//! An input also encodes how it is split: see `pieces`.

mod arguments;
mod hermes;
mod rpc_line;
mod sse;
#[cfg(test)]
mod tests;

pub use arguments::partial_arguments;
pub use hermes::hermes_blocks;
pub use rpc_line::rpc_line;
pub use sse::sse_decoder;

/// Splits `data` into content and pieces of it: the first byte is the number of bytes after it that are
/// lengths of pieces. The rest of the content is the last piece.
fn pieces(data: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let Some((&count, rest)) = data.split_first() else {
        return (data, Vec::new());
    };
    let (lengths, content) = rest.split_at(usize::from(count).min(rest.len()));
    let mut pieces = Vec::new();
    let mut left = content;
    for &length in lengths {
        let (piece, others) = left.split_at(usize::from(length).min(left.len()));
        pieces.push(piece);
        left = others;
    }
    pieces.push(left);
    (content, pieces)
}

/// Splits `text` near the ends of `pieces`, between characters.
fn in_characters<'a>(text: &'a str, pieces: &[&[u8]]) -> Vec<&'a str> {
    let mut cut = Vec::new();
    let (mut from, mut end) = (0, 0);
    for piece in pieces {
        end += piece.len();
        let to = text.floor_char_boundary(end).max(from);
        cut.push(&text[from..to]);
        from = to;
    }
    // Invalid UTF-8 became longer.
    cut.push(&text[from..]);
    cut
}

/// Creates an input: `content`, to be split into pieces of these lengths.
pub fn input(lengths: &[u8], content: &[u8]) -> Vec<u8> {
    let lengths = &lengths[..lengths.len().min(usize::from(u8::MAX))];
    let mut input = vec![lengths.len() as u8];
    input.extend_from_slice(lengths);
    input.extend_from_slice(content);
    input
}
