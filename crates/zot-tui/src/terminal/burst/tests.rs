use super::*;
use crate::app::Key;

fn keys(text: &str) -> Vec<Input> {
    let code = |character| match character {
        '\n' => KeyCode::Enter,
        character => KeyCode::Character(character),
    };
    let keys = text.chars().map(|character| Key::plain(code(character)));
    keys.map(Input::Key).collect()
}

#[test]
fn lines_that_come_at_once_are_a_paste() {
    let mut burst = Burst::default();
    assert_eq!(burst.take(keys("fn main() {\n    body")), []);
    assert_eq!(burst.take(keys("();\n")), []);
    assert_eq!(
        burst.end(),
        Some(Input::Paste("fn main() {\n    body();\n".to_owned()))
    );
    assert_eq!(burst.end(), None);
}

#[test]
fn what_is_typed_is_typed() {
    for text in ["a", "\n", "a whole prompt, sent\n", "hi\nthere\n"] {
        let mut burst = Burst::default();
        assert_eq!(burst.take(keys(text)), keys(text));
        assert!(!burst.is_open());
    }
}

#[test]
fn another_key_ends_the_paste() {
    let mut burst = Burst::default();
    burst.take(keys("first line\nsecond line"));
    let interrupt = Input::Key(Key::control('c'));
    assert_eq!(
        burst.take(vec![interrupt.clone()]),
        [
            Input::Paste("first line\nsecond line".to_owned()),
            interrupt
        ]
    );
}
