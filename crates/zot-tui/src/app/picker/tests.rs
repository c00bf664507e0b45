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

/// In a crowd the quicker way finds the same files.
#[test]
fn a_name_is_found_in_a_crowd() {
    let names: Vec<String> = (0..CROWD * 2)
        .map(|number| format!("crates/part{}/src/Module_{number}.rs", number % 100))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut picker = picker(&names);
    for end in 1..="part77mod19977".len() {
        picker.narrow("part77mod19977"[..end].to_owned());
    }
    assert_eq!(offered(&picker)[0], "crates/part77/src/Module_19977.rs");
    picker.narrow("Mod".to_owned());
    assert_eq!(picker.matches().len(), MAX_MATCHES);
    picker.narrow("MOD".to_owned());
    assert!(picker.is_empty());
}
