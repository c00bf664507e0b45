//! Lines of `zot rpc`.

use serde_json::Value;
use zot_wire::rpc::{CommandFrame, RejectedLine};
use zot_wire::{Line, LineDecoder, write_line};

use super::pieces;

/// Short, so that a fuzzer reaches it.
const LIMIT: usize = 256;

type Read = Result<CommandFrame, RejectedLine>;

/// Splits do not change the lines, no line makes the parser panic, and a parsed command survives a round
/// trip.
pub fn rpc_line(data: &[u8]) {
    let (content, cut) = pieces(data);
    let whole = lines(&[content]);
    assert_eq!(lines(&cut), whole, "the cut changes the lines");
    let bytes: Vec<&[u8]> = content.chunks(1).collect();
    assert_eq!(lines(&bytes), whole, "splitting by bytes changes the lines");
    for line in whole.into_iter().flatten() {
        assert!(line.len() <= LIMIT && !line.contains(&b'\n'));
        match CommandFrame::parse(&line) {
            Ok(frame) => check_round_trip(frame),
            Err(refused) => assert!(!refused.error.is_empty()),
        }
    }
    // The whole content as one line, including line feeds.
    let _: Read = CommandFrame::parse(content);
}

fn check_round_trip(frame: CommandFrame) {
    let mut written = serde_json::to_value(&frame.command).unwrap_or_default();
    assert_eq!(written["type"], frame.command.name());
    if let Some(id) = &frame.id {
        let text = serde_json::to_string(id).unwrap_or_default();
        // A number that `Value` cannot represent exactly is echoed as text; here it would change.
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

/// Returns complete lines; `None` for one that is too long.
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
        // Makes the decoder notice an unfinished line that is too long.
        assert!(decoder.next_line().is_none());
    }
    lines.extend(decoder.finish().map(own));
    lines
}
