use super::nearest_names;

#[test]
fn names_are_ranked_by_likelihood() {
    let models = ["gpt-5", "gpt-5-mini", "gpt-4.1", "gpt-4o", "o3", "o3-mini"];
    for (wanted, expected) in [
        ("gpt-4", vec!["gpt-4o", "gpt-5", "gpt-4.1"]),
        ("GPT-5", vec!["gpt-5", "gpt-4o", "gpt-5-mini"]),
        ("mini", vec!["o3-mini", "gpt-5-mini"]),
        ("o3-mni", vec!["o3-mini", "o3"]),
        ("claude-sonnet-4-5", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(nearest_names(wanted, models), expected, "{wanted}");
    }
}
