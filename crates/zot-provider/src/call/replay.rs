//! Runs a decoder over a recorded body, whole or in pieces, complete or cut.

use super::decoding::Decoding;
use super::{Decoder, ModelError, ModelEvent};

/// Decodes a body made of `pieces`; `cut` is how its connection broke at the end.
pub(crate) fn replay(
    decoder: impl Decoder,
    pieces: &[&[u8]],
    cut: Option<&str>,
) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut decoding = Decoding::new("test", decoder, None);
    for piece in pieces {
        decoding.feed(piece);
    }
    let error = decoding.end(cut).err();
    (decoding.events.into(), error)
}

/// Asserts that splitting `body` anywhere changes nothing, and that cutting it anywhere before
/// `complete_from` is an error that keeps what came before the cut.
pub(crate) fn check_every_byte<D: Decoder>(
    body: &[u8],
    complete_from: usize,
    decoder: impl Fn() -> D,
) {
    let (whole, error) = replay(decoder(), &[body], None);
    let error = error.map(|error| error.message);
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(replay(decoder(), &bytes, None).0, whole, "byte by byte");
    for index in 0..=body.len() {
        let (left, right) = body.split_at(index);
        let (events, split_error) = replay(decoder(), &[left, right], None);
        assert_eq!(events, whole, "split at {index}");
        assert_eq!(split_error.map(|error| error.message), error);
        for cut in [None, Some("connection reset")] {
            let (events, error) = replay(decoder(), &[left], cut);
            let stopped = matches!(events.last(), Some(ModelEvent::Stop(_)));
            assert_eq!(stopped, error.is_none(), "cut at {index}");
            if index < complete_from {
                assert!(error.is_some(), "cut at {index} must not pass for success");
                assert_eq!(events[..], whole[..events.len()], "cut at {index}");
            }
        }
    }
}
