use super::*;

fn not_found(value: &str) -> Meaning {
    let problem = FindError::NotFound {
        wanted: value.to_owned(),
    };
    meaning(value, Some(&problem))
}

#[test]
fn an_existing_session_is_used() {
    assert_eq!(meaning("fix the bug", None), Meaning::Session);
}

#[test]
fn sentences_and_plain_words_are_the_prompt() {
    for value in [
        "fix the bug",
        "hello",
        "2 things are left",
        "",
        " ",
        "why?",
        "say:2",
    ] {
        assert_eq!(not_found(value), Meaning::Prompt, "{value:?}");
    }
}

#[test]
fn a_mistyped_id_or_path_is_never_a_prompt() {
    for value in [
        "3f2a",
        "deadbeef",
        "add",
        "3f2g-x",
        "24c2f167",
        "old.jsonl",
        "./here",
        "/tmp/x",
        "~/x",
    ] {
        assert_eq!(not_found(value), Meaning::Mistake, "{value:?}");
    }
}
