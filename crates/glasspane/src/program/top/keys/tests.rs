use super::{Key, Keys};

#[test]
fn keys_and_sequences() {
    let mut keys = Keys::default();
    let bytes = "qé\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[1;5C\r\x7f\x03\x01".as_bytes();
    assert_eq!(
        keys.read(bytes),
        [
            Key::Character('q'),
            Key::Character('é'),
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::PageDown,
            Key::Enter,
            Key::Backspace,
            Key::Interrupt,
        ]
    );
    assert_eq!(keys.read(b"\x1b"), [Key::Escape]);
}

#[test]
fn a_sequence_may_arrive_in_pieces() {
    let mut keys = Keys::default();
    assert_eq!(keys.read(b"\x1b["), []);
    assert_eq!(keys.read(b"A"), [Key::Up]);
    assert_eq!(keys.read(b"\xc3"), []);
    assert_eq!(keys.read(b"\xa9"), [Key::Character('é')]);
}

#[test]
fn an_incomplete_sequence_is_dropped_after_a_while() {
    let mut keys = Keys::default();
    assert_eq!(keys.read(b"\x1b["), []);
    keys.settle();
    keys.settle();
    assert_eq!(keys.read(b"q"), [Key::Character('q')]);
}
