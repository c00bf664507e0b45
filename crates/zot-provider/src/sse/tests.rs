use proptest::prelude::*;

use super::*;

type Owned = (String, String);

fn decode(pieces: &[&[u8]]) -> Vec<Owned> {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    let mut sink = |event: SseEvent<'_>| {
        events.push((
            String::from_utf8_lossy(event.name).into_owned(),
            String::from_utf8_lossy(event.data).into_owned(),
        ));
    };
    for piece in pieces {
        decoder.feed(piece, &mut sink).unwrap();
    }
    decoder.finish(&mut sink).unwrap();
    events
}

fn event(name: &str, data: &str) -> Owned {
    (name.to_owned(), data.to_owned())
}

#[test]
fn table() {
    let cases: [(&str, &[Owned]); 14] = [
        ("data: a\n\n", &[event("", "a")]),
        (
            "data: a\r\n\r\ndata: b\r\n\r\n",
            &[event("", "a"), event("", "b")],
        ),
        ("data: a\r\rdata: b\r\r", &[event("", "a"), event("", "b")]),
        ("\u{feff}data: a\n\n", &[event("", "a")]),
        (": comment\ndata: a\n: more\n\n", &[event("", "a")]),
        ("data: a\ndata: b\n\n", &[event("", "a\nb")]),
        ("data:a\n\n", &[event("", "a")]),
        ("data:  a\n\n", &[event("", " a")]),
        (
            "event: x\ndata: a\n\ndata: b\n\n",
            &[event("x", "a"), event("", "b")],
        ),
        ("event: x\n\ndata: b\n\n", &[event("", "b")]),
        (
            "garbage\nid: 7\nretry: 9\ndatabase: x\ndata: a\n\n",
            &[event("", "a")],
        ),
        ("data: unterminated", &[event("", "unterminated")]),
        (
            "data: a\n\n\n\n\ndata\n\n",
            &[event("", "a"), event("", "")],
        ),
        ("", &[]),
    ];
    for (input, expected) in cases {
        assert_eq!(decode(&[input.as_bytes()]), expected, "{input:?}");
        let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
        assert_eq!(decode(&bytes), expected, "{input:?} byte by byte");
    }
}

#[test]
fn refuses_endless_events_however_they_arrive() {
    let line = vec![b'x'; MAX_SSE_EVENT_BYTES + 1];
    assert!(SseDecoder::new().feed(&line, |_| ()).is_err());

    let mut lines = Vec::new();
    while lines.len() <= MAX_SSE_EVENT_BYTES + 64 * 1024 {
        lines.extend_from_slice(b"data: ");
        lines.extend_from_slice(&[b'x'; 1024]);
        lines.push(b'\n');
    }
    assert!(SseDecoder::new().feed(&lines, |_| ()).is_err());
    let mut decoder = SseDecoder::new();
    let refused = lines
        .chunks(1000)
        .any(|piece| decoder.feed(piece, |_| ()).is_err());
    assert!(refused);
}

proptest! {
    #[test]
    fn cutting_the_bytes_changes_nothing(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "data: {\"a\":1}", "data:x", "data", "event: name", ": c", "", "", "id: 1",
                "\u{feff}data: b", "data: \u{2028}é", "garbage",
            ]),
            0..24,
        ),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n"]), 24),
        cuts in prop::collection::vec(0usize..200, 0..12),
    ) {
        let text: String = lines.iter().zip(&ends).flat_map(|(line, end)| [*line, *end]).collect();
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for cut in cuts {
            pieces.push(&bytes[start..cut]);
            start = cut;
        }
        pieces.push(&bytes[start..]);
        prop_assert_eq!(decode(&pieces), decode(&[bytes]));
    }
}

#[test]
fn ids_count_when_their_event_is_complete() {
    let stream = b"id: 1\nretry: 250\ndata:\n\nid: 2\n\nid: a\0b\n\nretry: soon\nid: 3\ndata: cut";
    for size in 1..stream.len() {
        let mut decoder = SseDecoder::new();
        for piece in stream.chunks(size) {
            decoder.feed(piece, |_| {}).unwrap();
        }
        assert_eq!(decoder.last_id(), Some(&b"2"[..]), "pieces of {size}");
        assert_eq!(decoder.retry_milliseconds(), Some(250));
        decoder.feed(b"\n\n", |_| {}).unwrap();
        assert_eq!(decoder.last_id(), Some(&b"3"[..]));
    }
}
