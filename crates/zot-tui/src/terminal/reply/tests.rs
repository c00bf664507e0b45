use super::*;

fn typed(text: &str) -> Vec<Key> {
    let plain = |character| Key::plain(KeyCode::Character(character));
    text.chars().map(plain).collect()
}

/// What comes of an answer with this text and end, then an `x`.
fn found(text: &str, end: Key) -> Vec<Found> {
    let mut reply = Reply::default();
    let keys = [Key::alt(']')].into_iter().chain(typed(text));
    let keys = keys.chain([end]).chain(typed("x"));
    keys.map(|key| reply.take(key))
        .filter(|found| *found != Found::More)
        .collect()
}

#[test]
fn an_answer_is_found_between_the_keys() {
    for (text, is_light) in [
        ("11;rgb:ffff/ffff/ffff", true),
        ("11;rgb:1e1e/1e1e/2e2e", false),
        ("11;rgb:fd/f6/e3", true),
        ("11;rgba:00/00/00/ff", false),
    ] {
        for end in [Key::control('g'), Key::alt('\\')] {
            assert_eq!(
                found(text, end),
                [Found::Background { is_light }, Found::Keys(typed("x"))],
                "{text}"
            );
        }
    }
}

#[test]
fn what_is_no_answer_was_typed() {
    for text in ["hello", "11;rgb:", "11;rgb:zz/zz/zz", "1"] {
        let keys: Vec<Key> = found(text, Key::control('g'))
            .into_iter()
            .flat_map(|found| match found {
                Found::Keys(keys) => keys,
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [Key::alt(']')].into_iter().chain(typed(text));
        let expected: Vec<Key> = expected
            .chain([Key::control('g')])
            .chain(typed("x"))
            .collect();
        assert_eq!(keys, expected, "{text}");
    }
}
