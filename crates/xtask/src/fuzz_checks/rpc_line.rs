//! Lines of `zot rpc`.

use serde_json::Value;
use zot_wire::rpc::{CommandFrame, RequestRefused};
use zot_wire::{Line, LineDecoder, write_line};

use super::pieces;

/// Short, so that inputs of a fuzzer reach it.
const LIMIT: usize = 256;

type Read = Result<CommandFrame, RequestRefused>;

/// How input is cut does not change its lines, no line makes the parser panic, and a command that
/// was understood is understood the same when it is written and read again.
pub fn rpc_line(data: &[u8]) {
    let (content, cut) = pieces(data);
    let whole = lines(&[content]);
    assert_eq!(lines(&cut), whole, "the cut changes the lines");
    let bytes: Vec<&[u8]> = content.chunks(1).collect();
    assert_eq!(lines(&bytes), whole, "byte by byte the lines differ");
    for line in whole.into_iter().flatten() {
        assert!(line.len() <= LIMIT && !line.contains(&b'\n'));
        match CommandFrame::parse(&line) {
            Ok(frame) => understood_again(frame),
            Err(refused) => assert!(!refused.error.is_empty()),
        }
    }
    // The whole content as one line, line feeds and all.
    let _: Read = CommandFrame::parse(content);
}

fn understood_again(frame: CommandFrame) {
    let mut written = serde_json::to_value(&frame.command).unwrap_or_default();
    assert_eq!(written["type"], frame.command.name());
    if let Some(id) = &frame.id {
        let text = serde_json::to_string(id).unwrap_or_default();
        // A number that no `Value` holds exactly is echoed from its text; here it would change.
        let Ok(id) = serde_json::from_str::<Value>(&text) else {
            return;
        };
        if serde_json::to_string(&id).ok().as_ref() != Some(&text) {
            return;
        }
        written["id"] = id;
    }
    let mut line = Vec::new();
    assert!(write_line(&mut line, &written).is_ok());
    assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
    let again = CommandFrame::parse(line.strip_suffix(b"\n").unwrap_or(&line));
    assert_eq!(again, Ok(frame));
}

/// Complete lines; `None` for one that was too long.
fn lines(pieces: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    let own = |line: Line<'_>| match line {
        Line::Complete(line) => Some(line.to_vec()),
        Line::TooLong => None,
    };
    let mut decoder = LineDecoder::with_limit(LIMIT);
    let mut lines = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        while decoder.has_line() {
            lines.extend(decoder.next_line().map(own));
        }
        // Lets the decoder see that a line without an end is too long.
        assert!(decoder.next_line().is_none());
    }
    lines.extend(decoder.finish().map(own));
    lines
}
