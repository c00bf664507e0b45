use super::*;

fn text(limit: usize, parts: &[&[u8]]) -> String {
    let mut output = Output::new(limit);
    for part in parts {
        output.push(part);
    }
    output.text()
}

#[test]
fn invalid_utf8_is_replaced() {
    assert_eq!(text(100, &[b"\xff\xfe"]), "\u{fffd}\u{fffd}");
    assert_eq!(text(100, &[b"a\xc3", b"\xa9b"]), "a\u{e9}b");
    assert_eq!(text(100, &[b"a\xc3"]), "a\u{fffd}");
}

#[test]
fn long_output_is_cut_between_characters() {
    let note = "[output cut: 3 bytes more than the limit of 2]\n";
    assert_eq!(text(2, &[b"a", "éxy".as_bytes()]), format!("a\n{note}"));
    assert_eq!(text(2, &[b"a\n", b"bcd"]), format!("a\n{note}"));
    assert_eq!(text(2, &[b"ab"]), "ab");
    assert!(text(0, &[b"ab"]).starts_with("[output cut: 2 bytes"));
}
