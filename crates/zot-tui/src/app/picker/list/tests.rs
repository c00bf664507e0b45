use super::*;

fn picker(names: &[&str]) -> ChoiceList {
    ChoiceList::new(PickerKind::Files, Choices::named(names))
}

fn offered(picker: &ChoiceList) -> Vec<&str> {
    picker.matches().map(|(choice, _)| choice.name).collect()
}

/// Narrowing step by step gives the same result as one query, even when steps are undone.
#[test]
fn the_steps_to_a_query_do_not_matter() {
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
    let mut stepwise = picker(&names);
    for query in queries {
        stepwise.narrow(query.to_owned());
        let mut fresh = picker(&names);
        fresh.narrow(query.to_owned());
        assert_eq!(offered(&stepwise), offered(&fresh), "{query:?}");
    }
}

/// Greedy matching finds the same files.
#[test]
fn a_name_is_found_among_very_many() {
    let names: Vec<String> = (0..GREEDY_THRESHOLD * 2)
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

/// An exact match comes first, even among very many names.
#[test]
fn an_exact_match_comes_first() {
    let mut commands = picker(&["/sessions", "/session", "/session-notes"]);
    commands.narrow("/session".to_owned());
    assert_eq!(offered(&commands)[0], "/session");
    let mut files = picker(&["src/lib.rs", "src.rs", "lib/src/", "src/", "a!b", "!b"]);
    for (query, first) in [("src", "src/"), ("src/", "src/"), ("!b", "!b")] {
        files.narrow(query.to_owned());
        assert_eq!(offered(&files)[0], first, "{query:?}");
    }
    let mut names: Vec<String> = (0..GREEDY_THRESHOLD * 2)
        .map(|n| format!("main.rs{n}"))
        .collect();
    names.push("main.rs".to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut many = picker(&names);
    for query in ["main", "main.rs"] {
        many.narrow(query.to_owned());
    }
    assert_eq!(offered(&many)[0], "main.rs");
}

#[test]
fn matching_characters_of_a_name_are_found() {
    let mut picker = picker(&["src/main.rs", "ünïcode/ma.rs"]);
    picker.narrow("mar".to_owned());
    let positions: Vec<_> = picker.matches().map(|(_, positions)| positions).collect();
    assert_eq!(positions, [[8, 9, 11], [4, 5, 9]]);
}

#[test]
fn the_selection_survives_new_choices() {
    let list = |names: &[&str]| Choices::named(names);
    let mut picker = picker(&["a", "b", "c"]);
    picker.move_by(1);
    picker.set_choices(list(&["0", "a", "b", "c"]));
    assert_eq!(picker.chosen().map(|choice| choice.name), Some("b"));
    picker.move_within(100);
    assert_eq!(picker.chosen_index(), Some(3));
    picker.move_within(-2);
    assert_eq!(picker.chosen_index(), Some(1));
    picker.set_choices(list(&["0"]));
    assert_eq!(picker.chosen_index(), Some(0));
}
