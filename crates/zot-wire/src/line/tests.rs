use proptest::prelude::{any, prop, proptest};

use super::{Line, LineDecoder};

fn decode(limit: usize, chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    let mut decoder = LineDecoder::with_limit(limit);
    let mut lines = Vec::new();
    let own = |line: Line<'_>| match line {
        Line::Complete(bytes) => Some(bytes.to_vec()),
        Line::TooLong => None,
    };
    for chunk in chunks {
        decoder.feed(chunk);
        while let Some(line) = decoder.next_line() {
            lines.push(own(line));
        }
        assert!(decoder.buffer.len() <= limit + chunk.len());
    }
    if let Some(line) = decoder.finish() {
        lines.push(own(line));
    }
    lines
}

#[test]
fn splits_on_line_feed_only() {
    let text = "a\u{2028}b\rc\nd".as_bytes();
    assert_eq!(
        decode(100, &[text]),
        [Some("a\u{2028}b\rc".into()), Some("d".into())]
    );
}

#[test]
fn an_overlong_line_is_reported_once_and_reading_continues() {
    assert_eq!(
        decode(4, &[b"1234\n12", b"345", b"6789", b"0\nok\n"]),
        [Some(b"1234".to_vec()), None, Some(b"ok".to_vec())]
    );
    assert_eq!(decode(4, &[b"123456"]), [None]);
}

proptest! {
    #[test]
    fn the_split_of_the_bytes_does_not_matter(
        bytes in prop::collection::vec(prop::sample::select(b"ab\n\r".to_vec()), 0..200),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut positions: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        positions.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for position in positions {
            chunks.push(&bytes[from..position]);
            from = position;
        }
        chunks.push(&bytes[from..]);
        assert_eq!(decode(10, &chunks), decode(10, &[&bytes]));
    }
}
