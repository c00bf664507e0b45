use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

use super::{expand, split_words};

#[track_caller]
fn check(body: &str, arguments: &str, expected: &str) {
    assert_eq!(
        expand(body, arguments),
        expected,
        "{body:?} with {arguments:?}"
    );
}

#[test]
fn places_are_filled() {
    check("review $1", "src/main.rs", "review src/main.rs");
    check("$2 before $1", "a b", "b before a");
    check("all: $@.", " a  b ", "all: a  b.");
    check("all: $ARGUMENTS", "a b", "all: a b");
    check("$1$1-$9", "a", "aa-");
    check("($1)", "\"a b\" c", "(a b)");
}

#[test]
fn what_only_looks_like_a_place_stays() {
    check("$0 $10 $x $ARGUMENTS_X $", "", "$0 $10 $x $ARGUMENTS_X $");
    check("costs $15", "", "costs $15");
    check("\\$1 and $1", "a", "$1 and a");
    check("\\$ARGUMENTS $@", "a", "$ARGUMENTS a");
    check("\\n $1", "a", "\\n a");
}

#[test]
fn arguments_are_text() {
    check("$1 $2", "$2 $1", "$2 $1");
    check("$@", "\\$1", "\\$1");
}

#[test]
fn nothing_the_user_wrote_is_lost() {
    check("review", "the parser", "review\n\nthe parser");
    check("costs \\$1", "x", "costs $1\n\nx");
    check("review", "  ", "review");
}

#[test]
fn quotes_keep_words_together() {
    for (text, expected) in [
        ("", &[][..]),
        ("a b", &["a", "b"]),
        ("'a b' \"c d\"", &["a b", "c d"]),
        ("a\"b c\"d", &["ab cd"]),
        ("don't stop", &["don't", "stop"]),
        ("\"\" x", &["", "x"]),
        ("\"open end", &["open end"]),
    ] {
        assert_eq!(split_words(text), expected, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_template_without_dollars_is_itself(body in "[^$]{0,60}") {
        prop_assert_eq!(expand(&body, ""), body);
    }

    #[test]
    fn all_arguments_arrive_as_they_are(arguments in "\\PC{0,40}") {
        prop_assert_eq!(expand("<$@>", &arguments), format!("<{}>", arguments.trim()));
    }
}
