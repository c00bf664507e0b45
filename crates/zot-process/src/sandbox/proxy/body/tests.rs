use super::{BadChunk, Body};

/// Feeds `bytes` in pieces of `size`, and returns how much the body took.
fn fed(mut body: Body, bytes: &[u8], size: usize) -> Result<(usize, bool), BadChunk> {
    let mut taken = 0;
    for piece in bytes.chunks(size) {
        let length = body.take(piece)?;
        taken += length;
        if length < piece.len() {
            break;
        }
    }
    Ok((taken, body.is_complete()))
}

#[test]
fn nothing_beyond_the_end_is_taken() {
    let chunked = b"5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n";
    let mut with_more = chunked.to_vec();
    with_more.extend_from_slice(b"GET http://evil.example/ HTTP/1.1\r\n\r\n");
    for size in 1..=with_more.len() {
        let expected = Ok((chunked.len(), true));
        assert_eq!(fed(Body::chunked(), &with_more, size), expected, "{size}");
        assert_eq!(fed(Body::Bytes(5), b"helloGET /", size), Ok((5, true)));
        assert_eq!(fed(Body::Complete, b"GET /", size), Ok((0, true)));
        assert_eq!(fed(Body::Bytes(0), b"GET /", size), Ok((0, true)));
    }
    assert_eq!(fed(Body::Bytes(6), b"hello", 5), Ok((5, false)));
    for end in 0..chunked.len() {
        let part = &chunked[..end];
        assert_eq!(fed(Body::chunked(), part, 7), Ok((end, false)), "{end}");
    }
}

#[test]
fn malformed_chunks_are_refused() {
    let bad: [&[u8]; 22] = [
        b"\r\n",
        b"\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5;name=value\r\nhello\r\n0\r\n\r\n",
        b"5;\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\rhello\r\n0\r\n\r\n",
        b"5\r\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhello0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5\r\nhello!\r\n0\r\n\r\n",
        b"5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n",
        b"5\r\nhello\r\n0\n\n",
        b"0\r\n\n",
        b"g\r\n",
        b"1000000000000000\r\n",
        b"ffffffffffffffff\r\n",
        b"0000000000000005\r\nhello\r\n0\r\n\r\n",
    ];
    for bytes in bad {
        for size in [1, 2, bytes.len()] {
            let result = fed(Body::chunked(), bytes, size);
            assert_eq!(result, Err(BadChunk), "{}", bytes.escape_ascii());
        }
    }
}

#[test]
fn the_largest_chunk_does_not_overflow() {
    let mut body = Body::chunked();
    assert_eq!(body.take(b"fffffffffffffff\r\nabc"), Ok(20));
    assert!(!body.is_complete());
    let mut body = Body::Bytes(u64::MAX);
    assert_eq!(body.take(&[0; 1000]), Ok(1000));
    assert_eq!(body, Body::Bytes(u64::MAX - 1000));
}
