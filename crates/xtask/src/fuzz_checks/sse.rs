//! Server-sent events.

use zot_provider::sse::{SseDecoder, SseError, SseEvent};

use super::pieces;

type Decoded = (Vec<(Vec<u8>, Vec<u8>)>, Result<(), SseError>);

/// Splits do not change the events, no event name contains a line break, and the decoder never returns
/// more than it received.
pub fn sse_decoder(data: &[u8]) {
    let (content, cut) = pieces(data);
    let whole = decode(&[content]);
    assert_eq!(decode(&cut), whole, "the split changes the events");
    let bytes: Vec<&[u8]> = content.chunks(1).collect();
    assert_eq!(
        decode(&bytes),
        whole,
        "splitting by bytes changes the events"
    );
    let returned = whole.0.iter().map(|(name, data)| name.len() + data.len());
    assert!(returned.sum::<usize>() <= content.len());
    for (name, data) in &whole.0 {
        assert!(!name.contains(&b'\n') && !name.contains(&b'\r'));
        assert!(!data.contains(&b'\r'));
    }
}

fn decode(pieces: &[&[u8]]) -> Decoded {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    let mut sink = |event: SseEvent<'_>| events.push((event.name.to_vec(), event.data.to_vec()));
    let mut outcome = Ok(());
    for piece in pieces {
        outcome = decoder.feed(piece, &mut sink);
        if outcome.is_err() {
            break;
        }
    }
    if outcome.is_ok() {
        outcome = decoder.finish(&mut sink);
    }
    (events, outcome)
}
