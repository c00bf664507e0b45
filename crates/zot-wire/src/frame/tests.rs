use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn a_header_reserves_no_memory() {
    let mut decoder = FrameDecoder::with_limit(1024);
    decoder.feed(&[0, 0, 4, 0]);
    assert_eq!(decoder.next_frame(), Ok(None));
    assert!(decoder.is_partial());
    assert!(decoder.buffer.capacity() < 1024);
    let mut decoder = FrameDecoder::with_limit(1024);
    decoder.feed(&[0xFF; 4]);
    assert_eq!(
        decoder.next_frame(),
        Err(FrameTooLong {
            length: 0xFFFF_FFFF,
            limit: 1024
        })
    );
}

#[test]
fn an_empty_frame_is_a_frame() {
    let mut decoder = FrameDecoder::with_limit(8);
    decoder.feed(&[0; 8]);
    assert_eq!(decoder.next_frame(), Ok(Some(&[][..])));
    assert_eq!(decoder.next_frame(), Ok(Some(&[][..])));
    assert_eq!(decoder.next_frame(), Ok(None));
}

proptest! {
    #[test]
    fn the_split_of_the_bytes_does_not_matter(
        texts in proptest::collection::vec(".{0,40}", 1..6),
        cuts in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let mut bytes = Vec::new();
        for text in &texts {
            write_frame(&mut bytes, &json!({"text": text})).unwrap();
        }
        let mut decoder = FrameDecoder::with_limit(MAX_FRAME_BYTES);
        let mut found = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            decoder.feed(piece);
            while let Some(frame) = decoder.next_frame().unwrap() {
                let frame: serde_json::Value = serde_json::from_slice(frame).unwrap();
                found.push(frame["text"].as_str().unwrap().to_owned());
            }
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(found, texts);
        prop_assert!(!decoder.is_partial());
    }
}
