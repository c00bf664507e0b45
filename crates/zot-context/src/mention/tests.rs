use proptest::prelude::{ProptestConfig, proptest};

use super::mentions;

/// The last, shortest candidate of each mention.
fn shortest(text: &str) -> Vec<&str> {
    let found = mentions(text);
    found
        .iter()
        .filter_map(|mention| mention.candidates.last().copied())
        .collect()
}

#[test]
fn a_word_that_begins_with_an_at_sign_may_be_one() {
    for (text, expected) in [
        ("@a.txt", &["a.txt"][..]),
        ("look at @src/main.rs, please", &["src/main.rs"]),
        ("(@a) [@b] \"@c\" `@d`", &["a", "b", "c", "d"]),
        ("@\"a b.txt\" and @\"c\"", &["a b.txt", "c"]),
        ("@a\n@b\t@c", &["a", "b", "c"]),
        ("end of sentence @a.txt.", &["a.txt"]),
        (
            "@~/notes @/etc/hosts @../x @.",
            &["~/notes", "/etc/hosts", "../x", "."],
        ),
    ] {
        assert_eq!(shortest(text), expected, "{text:?}");
    }
}

#[test]
fn the_longest_reading_is_tried_first() {
    let found = mentions("see @notes...");
    assert_eq!(
        found[0].candidates,
        ["notes...", "notes..", "notes.", "notes"]
    );
}

#[test]
fn addresses_and_lone_signs_are_not() {
    for text in [
        "mail ada@example.org now",
        "a@b@c",
        "@",
        "@ a",
        "@\"open",
        "@\"\"",
        "3 @ 5",
        "user@\"host\"",
    ] {
        assert_eq!(shortest(text), Vec::<&str>::new(), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_candidate_is_part_of_the_text(text in "[@a\" .é\\n(]{0,40}") {
        for mention in mentions(&text) {
            for candidate in mention.candidates {
                assert!(!candidate.is_empty() && text.contains(candidate));
            }
        }
    }
}
