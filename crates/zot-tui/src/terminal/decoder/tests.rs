use super::*;

/// Decodes input and checks that the result is the same however reads split it.
fn decoded(bytes: &[u8]) -> Vec<Decoded> {
    let mut whole = Decoder::default();
    whole.push(bytes);
    let at_once = all(&mut whole);
    for cut in 1..bytes.len() {
        let mut decoder = Decoder::default();
        decoder.push(&bytes[..cut]);
        let mut found: Vec<Decoded> = std::iter::from_fn(|| decoder.next()).collect();
        decoder.push(&bytes[cut..]);
        found.extend(all(&mut decoder));
        assert_eq!(found, at_once, "cut at {cut}");
    }
    at_once
}

fn all(decoder: &mut Decoder) -> Vec<Decoded> {
    let mut found = Vec::new();
    loop {
        match decoder.next().or_else(|| decoder.finish()) {
            Some(decoded) => found.push(decoded),
            None => return found,
        }
    }
}

fn keys(bytes: &[u8]) -> Vec<Key> {
    let keys = decoded(bytes).into_iter().map(|decoded| match decoded {
        Decoded::Key(key) => key,
        other => panic!("{other:?}"),
    });
    keys.collect()
}

fn typed(text: &str) -> Vec<Key> {
    let plain = |character| Key::plain(KeyCode::Character(character));
    text.chars().map(plain).collect()
}

const SHIFT: Key = Key {
    shift: true,
    ..Key::plain(KeyCode::Tab)
};

#[test]
fn keys_are_distinguished() {
    let check = |bytes: &str, key: Key| assert_eq!(keys(bytes.as_bytes()), [key], "{bytes:?}");
    let plain = Key::plain;
    check("a", plain(KeyCode::Character('a')));
    check("é", plain(KeyCode::Character('é')));
    check("🦀", plain(KeyCode::Character('🦀')));
    check("\r", plain(KeyCode::Enter));
    check("\n", Key::control('j'));
    check("\x03", Key::control('c'));
    check("\x1f", Key::control('7'));
    check("\0", Key::control(' '));
    check("\x7f", plain(KeyCode::Backspace));
    check("\t", plain(KeyCode::Tab));
    check("\x1b[Z", SHIFT);
    check("\x1b[9;2u", SHIFT);
    check("\x1b", plain(KeyCode::Escape));
    check("\x1b[27u", plain(KeyCode::Escape));
    check("\x1bb", Key::alt('b'));
    check("\x1bé", Key::alt('é'));
    check("\x1b[", Key::alt('['));
    check("\x1b]", Key::alt(']'));
    check(
        "\x1b\r",
        Key {
            alt: true,
            ..plain(KeyCode::Enter)
        },
    );
    check("\x1b[A", plain(KeyCode::Up));
    check("\x1bOB", plain(KeyCode::Down));
    check("\x1b[1~", plain(KeyCode::Home));
    check("\x1b[F", plain(KeyCode::End));
    check("\x1b[3~", plain(KeyCode::Delete));
    check("\x1b[6~", plain(KeyCode::PageDown));
    check(
        "\x1b[1;5D",
        Key {
            control: true,
            ..plain(KeyCode::Left)
        },
    );
    check(
        "\x1b[3;3~",
        Key {
            alt: true,
            ..plain(KeyCode::Delete)
        },
    );
    check("\x1b[99;5u", Key::control('c'));
    check("\x1b[99;69u", Key::control('c'));
    check("\x1b[97:65;2u", plain(KeyCode::Character('A')));
    check("\x1b[57414u", plain(KeyCode::Enter));
    check("\x1b[57401u", plain(KeyCode::Character('2')));
    check(
        "\x1b[13;2u",
        Key {
            shift: true,
            ..plain(KeyCode::Enter)
        },
    );
}

#[test]
fn unknown_sequences_are_not_text() {
    for bytes in [
        "\x1b[[A",
        "\x1b[29~",
        "\x1b[97;1:3u",
        "\x1b[?1u",
        "\x1b[?2026;2$y",
        "\x1b[>0;276;0c",
        "\x1b[<0;3;4M",
        "\x1b[57441;2u",
        "\x1b[4;600;800t",
        "\x1b[I",
    ] {
        assert_eq!(
            keys(format!("{bytes}x").as_bytes()),
            typed("x"),
            "{bytes:?}"
        );
    }
    assert_eq!(keys(b"\xff\xfex\xc3"), typed("x"));
    assert_eq!(keys(b"\x1b[12\rx").len(), 2);
}

#[test]
fn a_cursor_report_may_look_like_a_key() {
    let position = Decoded::Cursor {
        row: 12,
        column: 40,
        key: None,
    };
    assert_eq!(decoded(b"\x1b[12;40R"), [position]);
    let key = Key {
        control: true,
        ..Key::plain(KeyCode::Function(3))
    };
    let position = Decoded::Cursor {
        row: 1,
        column: 5,
        key: Some(key),
    };
    assert_eq!(decoded(b"\x1b[1;5R"), [position]);
}

#[test]
fn escape_twice_is_two_keys() {
    let escape = Key::plain(KeyCode::Escape);
    assert_eq!(keys(b"\x1b\x1b"), [escape, escape]);
    assert_eq!(keys(b"\x1b\x1b[A"), [escape, Key::plain(KeyCode::Up)]);
}

#[test]
fn a_paste_is_one_input() {
    let bytes = "\x1b[200~one\r\x1b[Atwo é\x1b[201~x".as_bytes();
    let [paste, key] = &decoded(bytes)[..] else {
        panic!("{:?}", decoded(bytes));
    };
    assert_eq!(*paste, Decoded::Paste("one\r\x1b[Atwo é".to_owned()));
    assert_eq!(*key, Decoded::Key(typed("x")[0]));
    assert_eq!(
        decoded(b"\x1b[200~\x1b[201~"),
        [Decoded::Paste(String::new())]
    );
    // A paste may take its time and is incomplete before its end.
    let mut decoder = Decoder::default();
    decoder.push(b"\x1b[200~half");
    assert_eq!(decoder.next(), None);
    assert!(!decoder.is_undecided());
}

#[test]
fn a_reply_about_the_background_is_found_between_keys() {
    for (text, is_light) in [
        ("11;rgb:ffff/ffff/ffff", true),
        ("11;rgb:1e1e/1e1e/2e2e", false),
        ("11;rgb:fd/f6/e3", true),
        ("11;rgba:00/00/00/ff", false),
    ] {
        for end in ["\x07", "\x1b\\"] {
            let bytes = format!("a\x1b]{text}{end}b");
            assert_eq!(
                decoded(bytes.as_bytes()),
                [
                    Decoded::Key(typed("a")[0]),
                    Decoded::Background { is_light },
                    Decoded::Key(typed("b")[0])
                ],
                "{text}"
            );
        }
    }
}

#[test]
fn a_sequence_that_is_not_a_reply_was_typed() {
    for text in ["hello", "11;rgb:\x07", "11;rgb:zz/zz/zz\x07", "1x"] {
        let found = keys(format!("\x1b]{text}").as_bytes());
        assert_eq!(found[0], Key::alt(']'), "{text}");
        assert_eq!(found.len(), 1 + text.len(), "{text}");
    }
}

#[test]
fn attributes_and_cells_are_decoded() {
    for (bytes, sixel) in [
        ("\x1b[?62;4c", true),
        ("\x1b[?62;4;22c", true),
        ("\x1b[?62;22;4c", true),
        ("\x1b[?1;2c", false),
        ("\x1b[?4c", false),
        ("\x1b[?6c", false),
        ("\x1b[?64;14;24c", false),
    ] {
        let found = decoded(format!("{bytes}x").as_bytes());
        let expected = [Decoded::Attributes { sixel }, Decoded::Key(typed("x")[0])];
        assert_eq!(found, expected, "{bytes:?}");
    }
    assert_eq!(decoded(b"\x1b[6;18;9t"), [Decoded::Cell(9, 18)]);
    assert_eq!(decoded(b"\x1b[6;0;9tx"), [Decoded::Key(typed("x")[0])]);
}

/// A slow line may pause in the middle of a reply for longer than a key takes.
#[test]
fn a_reply_that_pauses_halfway_is_not_typed_text() {
    let mut decoder = Decoder::default();
    decoder.push(b"\x1b[?6");
    assert_eq!(decoder.next(), None);
    assert_eq!(decoder.finish(), None);
    decoder.push(b"2;4c");
    assert_eq!(decoder.next(), Some(Decoded::Attributes { sixel: true }));
}

#[test]
fn an_endless_sequence_ends() {
    let mut decoder = Decoder::default();
    decoder.push(b"\x1b[");
    decoder.push(&[b'1'; 500]);
    assert_eq!(decoder.next(), None);
    decoder.push(b"x");
    assert_eq!(decoder.next(), Some(Decoded::Key(typed("x")[0])));
}

#[test]
fn function_keys_have_numbers() {
    for (bytes, number) in [
        ("\x1bOP", 1),
        ("\x1bOS", 4),
        ("\x1b[11~", 1),
        ("\x1b[15~", 5),
        ("\x1b[17~", 6),
        ("\x1b[21~", 10),
        ("\x1b[24~", 12),
    ] {
        let key = Key::plain(KeyCode::Function(number));
        assert_eq!(keys(bytes.as_bytes()), [key], "{bytes:?}");
    }
    assert_eq!(keys(b"\x1b[2~"), [Key::plain(KeyCode::Insert)]);
    let held = Key {
        control: true,
        ..Key::plain(KeyCode::Function(2))
    };
    assert_eq!(keys(b"\x1b[1;5Q"), [held]);
}
