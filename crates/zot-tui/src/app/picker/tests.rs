use super::*;

fn picker(names: &[&str]) -> Picker {
    let choice = |name: &&str| Choice {
        name: (*name).to_owned(),
        description: String::new(),
    };
    Picker::new(PickerKind::Files, names.iter().map(choice).collect())
}

fn offered(picker: &Picker) -> Vec<&str> {
    picker
        .matches()
        .map(|choice| choice.name.as_str())
        .collect()
}

/// Narrowing step by step comes to the same as asking at once, also when steps are taken back.
#[test]
fn the_way_to_a_query_does_not_matter() {
    let names = [
        "src/main.rs",
        "src/lib.rs",
        "docs/main.md",
        "Makefile",
        "a b/c.rs",
    ];
    let queries = [
        "m", "ma", "mai", "m", "", "ma", "ma !", "ma !d", "lib", "li", "c b", "Ma", "ma",
    ];
    let mut walked = picker(&names);
    for query in queries {
        walked.narrow(query.to_owned());
        let mut fresh = picker(&names);
        fresh.narrow(query.to_owned());
        assert_eq!(offered(&walked), offered(&fresh), "{query:?}");
    }
}
