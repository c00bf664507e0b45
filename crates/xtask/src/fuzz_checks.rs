//! Properties that must hold for every input. Each takes arbitrary bytes and panics when its
//! property is broken; the targets of `fuzz/` and ordinary tests call the same functions.
//!
//! Inputs carry their own cuts: see `pieces`.

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

/// Splits `data` into a content and where to cut it: the first byte says how many of the bytes
/// behind it are lengths of pieces. What the lengths do not cover is the last piece.
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

/// Cuts `text` near the ends of `pieces`, between characters.
fn in_characters<'a>(text: &'a str, pieces: &[&[u8]]) -> Vec<&'a str> {
    let mut cut = Vec::new();
    let (mut from, mut end) = (0, 0);
    for piece in pieces {
        end += piece.len();
        let to = text.floor_char_boundary(end).max(from);
        cut.push(&text[from..to]);
        from = to;
    }
    // Bytes that were no UTF-8 became longer.
    cut.push(&text[from..]);
    cut
}

/// An input for the checks: `content`, to be cut into pieces of these lengths.
pub fn input(lengths: &[u8], content: &[u8]) -> Vec<u8> {
    let lengths = &lengths[..lengths.len().min(usize::from(u8::MAX))];
    let mut input = vec![lengths.len() as u8];
    input.extend_from_slice(lengths);
    input.extend_from_slice(content);
    input
}
