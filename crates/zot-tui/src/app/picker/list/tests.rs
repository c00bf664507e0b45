use super::*;

fn picker(names: &[&str]) -> ChoiceList {
    ChoiceList::new(PickerKind::Files, Choices::named(names))
}

fn offered(picker: &ChoiceList) -> Vec<&str> {
    picker.matches().map(|(choice, _)| choice.name).collect()
}

/// Narrowing step by step gives the same as one query, also when steps are undone.
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
    let mut walked = picker(&names);
    for query in queries {
        walked.narrow(query.to_owned());
        let mut fresh = picker(&names);
        fresh.narrow(query.to_owned());
        assert_eq!(offered(&walked), offered(&fresh), "{query:?}");
    }
}

/// Among very many names the faster way finds the same files.
#[test]
fn a_name_is_found_among_very_many() {
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

/// A name that is typed out comes first, also among very many.
#[test]
fn a_name_typed_out_comes_first() {
    let mut commands = picker(&["/sessions", "/session", "/session-notes"]);
    commands.narrow("/session".to_owned());
    assert_eq!(offered(&commands)[0], "/session");
    let mut files = picker(&["src/lib.rs", "src.rs", "lib/src/", "src/", "a!b", "!b"]);
    for (query, first) in [("src", "src/"), ("src/", "src/"), ("!b", "!b")] {
        files.narrow(query.to_owned());
        assert_eq!(offered(&files)[0], first, "{query:?}");
    }
    let mut names: Vec<String> = (0..CROWD * 2).map(|n| format!("main.rs{n}")).collect();
    names.push("main.rs".to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut crowd = picker(&names);
    for query in ["main", "main.rs"] {
        crowd.narrow(query.to_owned());
    }
    assert_eq!(offered(&crowd)[0], "main.rs");
}

#[test]
fn matches_are_marked_in_a_name() {
    let mut picker = picker(&["src/main.rs", "ünïcode/ma.rs"]);
    picker.narrow("mar".to_owned());
    let places: Vec<_> = picker.matches().map(|(_, places)| places).collect();
    assert_eq!(places, [[8, 9, 11], [4, 5, 9]]);
}

#[test]
fn the_selection_survives_new_choices() {
    let list = |names: &[&str]| Choices::named(names);
    let mut picker = picker(&["a", "b", "c"]);
    picker.move_by(1);
    picker.set_choices(list(&["0", "a", "b", "c"]));
    assert_eq!(picker.chosen().map(|choice| choice.name), Some("b"));
    picker.leap(100);
    assert_eq!(picker.chosen_index(), Some(3));
    picker.leap(-2);
    assert_eq!(picker.chosen_index(), Some(1));
    picker.set_choices(list(&["0"]));
    assert_eq!(picker.chosen_index(), Some(0));
}
