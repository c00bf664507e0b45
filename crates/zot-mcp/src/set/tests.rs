use super::matches_pattern;

#[test]
fn a_pattern_matches_whole_names() {
    for (pattern, text, expected) in [
        ("read", "read", true),
        ("read", "read_file", false),
        ("read*", "read_file", true),
        ("*_file", "read_file", true),
        ("*", "", true),
        ("r*d*e", "read_file", true),
        ("r*x*e", "read_file", false),
        ("a*a", "a", false),
    ] {
        assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
    }
}
