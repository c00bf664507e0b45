use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

use super::{Utf8Decoder, complete_len, to_text};

#[test]
fn only_a_begun_character_is_left_out() {
    for (bytes, expected) in [
        (&b""[..], 0),
        (b"abc", 3),
        ("é".as_bytes(), 2),
        (b"a\xc3", 1),
        (b"a\xe2\x82", 1),
        (b"a\xf0\x9f\x98", 1),
        (b"a\xff", 2),
        (b"\x80\x80\x80\x80", 4),
        (b"a\xe2\xff", 3),
    ] {
        assert_eq!(complete_len(bytes), expected, "{bytes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_join_to_the_whole(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..12),
        text in "\\PC{0,12}",
        cut in 1usize..4,
    ) {
        let mut bytes = parts.concat();
        bytes.extend_from_slice(text.as_bytes());
        let mut decoder = Utf8Decoder::default();
        let mut joined = String::new();
        for piece in bytes.chunks(cut) {
            joined.push_str(&decoder.decode(piece));
        }
        let rest = decoder.finish();
        prop_assert!(rest.chars().count() <= 1);
        joined.push_str(&rest);
        prop_assert_eq!(joined, to_text(&bytes));
    }
}
