use proptest::prelude::*;

use super::*;

fn decode(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool), ChunkError> {
    let mut decoder = ChunkedDecoder::new();
    let mut data = Vec::new();
    for piece in pieces {
        let mut sink = |part: &[u8]| data.extend_from_slice(part);
        decoder.decode(piece, &mut sink)?;
    }
    Ok((data, decoder.has_ended()))
}

#[test]
fn table() {
    let ended = |text: &str| Ok((text.as_bytes().to_vec(), true));
    assert_eq!(decode(&[b"3\r\nabc\r\n0\r\n\r\n"]), ended("abc"));
    assert_eq!(
        decode(&[b"a;x=y\r\n0123456789\r\n00\r\nt: v\r\n\r\n"]),
        ended("0123456789")
    );
    assert_eq!(decode(&[b"3\nabc\n0\n\n"]), ended("abc"));
    assert_eq!(decode(&[b"3\r\nab"]), Ok((b"ab".to_vec(), false)));
    assert_eq!(decode(&[b"0\r\n"]), Ok((Vec::new(), false)));
    assert_eq!(decode(&[b"\r\n"]), Err(ChunkError::Size));
    assert_eq!(decode(&[b"3x\r\nabc"]), Err(ChunkError::Size));
    assert_eq!(decode(&[b"11111111111111111\r\n"]), Err(ChunkError::Size));
    assert_eq!(decode(&[b"1\r\nab"]), Err(ChunkError::Overrun));
    assert_eq!(decode(&[&[b'0'; 5000]]), Err(ChunkError::Size));
    let endless = [&b"0\r\n"[..], &[b't'; MAX_TRAILER_BYTES + 1]].concat();
    assert_eq!(decode(&[&endless]), Err(ChunkError::Trailer));
}

#[test]
fn leaves_what_belongs_to_the_next_response() {
    let mut decoder = ChunkedDecoder::new();
    let consumed = decoder.decode(b"0\r\n\r\nHTTP", &mut |_| ());
    assert_eq!(consumed, Ok(5));
}

proptest! {
    #[test]
    fn cutting_the_bytes_changes_nothing(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
        cut in 0usize..200,
    ) {
        let mut bytes = Vec::new();
        for chunk in &chunks {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let (left, right) = bytes.split_at(cut.min(bytes.len()));
        prop_assert_eq!(decode(&[left, right]), Ok((chunks.concat(), true)));
    }
}
