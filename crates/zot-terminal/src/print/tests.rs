use std::io::Write as _;

use super::{Content, Print as _, Printer};

fn printed(pieces: &[&[u8]], content: Content, is_terminal: bool) -> Vec<u8> {
    let mut written = Vec::new();
    let mut printer = Printer::new(&mut written, content, is_terminal);
    for piece in pieces {
        printer.write_all(piece).unwrap();
    }
    drop(printer);
    written
}

#[test]
fn bytes_for_a_pipe_are_unchanged() {
    let hostile = b"\x1b[31m\x9b\xff\xe2\x80\xae\r\0";
    for content in [Content::Text, Content::Json] {
        assert_eq!(printed(&[hostile], content, false), hostile);
    }
}

#[test]
fn raw_c1_bytes_and_cut_characters_are_replaced() {
    let shown = printed(&[b"a\x9b31mb\xc3"], Content::Text, true);
    assert_eq!(String::from_utf8(shown).unwrap(), "a\u{fffd}31mb\u{fffd}");
}

#[test]
fn splits_do_not_change_the_output() {
    let whole = "é日🙂\u{202e}\u{9b}31m x \u{1b}]0;t\u{7}".as_bytes();
    let expected = printed(&[whole], Content::Text, true);
    assert_eq!(String::from_utf8_lossy(&expected), "é日🙂· x ");
    let bytes: Vec<&[u8]> = whole.chunks(1).collect();
    assert_eq!(printed(&bytes, Content::Text, true), expected);
    for cut in 0..whole.len() {
        let (first, second) = whole.split_at(cut);
        assert_eq!(printed(&[first, second], Content::Text, true), expected);
    }
}

#[test]
fn dropping_the_printer_shows_held_text() {
    assert_eq!(
        printed(&[b"\x1b]0;all of it"], Content::Text, true),
        b"0;all of it"
    );
}

#[test]
fn json_is_escaped_without_changing_its_meaning() {
    let line = "{\"a\":\"x\u{9b}\u{202e}\u{7f}\u{e0041}é\"}\n";
    let shown = String::from_utf8(printed(&[line.as_bytes()], Content::Json, true)).unwrap();
    assert_eq!(shown, "{\"a\":\"x\\u009b\\u202e\\u007f\\udb40\\udc41é\"}\n");
}

#[test]
fn cells_have_one_line_and_are_filtered_for_a_terminal_only() {
    let cell =
        |is_terminal| Printer::new(Vec::new(), Content::Text, is_terminal).cell("a\n\u{1b}[1mb");
    assert_eq!(cell(true), "a b");
    assert_eq!(cell(false), "a \u{1b}[1mb");
}
