use super::*;

#[test]
fn names_of_tools() {
    let added =
        |name: &str| Registrations::default().add_tool(name.to_owned(), String::new(), None);
    for name in [
        "a",
        "A-b_9",
        "a b",
        "ä",
        "a.b",
        "a/b",
        "_",
        &"x".repeat(128),
    ] {
        assert_eq!(added(name), Ok(()));
    }
    for name in ["", " a", "../a", "-a", "a\u{1b}b", "a\n", &"x".repeat(129)] {
        assert!(added(name).is_err(), "{name}");
    }
}

#[test]
fn a_schema_that_no_model_can_use_is_reported_and_kept() {
    for schema in [
        r#"{"type":"string"}"#,
        "[]",
        r#"{"type":"object","properties":{"x":5}}"#,
    ] {
        let mut registrations = Registrations::default();
        let schema: RawJson = serde_json::from_str(schema).unwrap();
        let added = registrations.add_tool("t".to_owned(), String::new(), Some(&schema));
        assert!(added.unwrap_err().contains("register_tool: \"t\": schema:"));
        assert_eq!(registrations.tools[0].parameters.get(), schema.get());
    }
}

#[test]
fn names_of_commands() {
    let added = |name: &str| {
        Registrations::default().add_command(CommandInfo {
            name: name.to_owned(),
            description: String::new(),
            extension: String::new(),
        })
    };
    for name in ["a", "ä.b:c", &"x".repeat(64)] {
        assert_eq!(added(name), Ok(()));
    }
    for name in ["", "a b", "/a", "a\u{1b}", &"x".repeat(65)] {
        assert!(added(name).is_err(), "{name}");
    }
}

#[test]
fn the_last_tool_of_a_name_is_used() {
    let mut registrations = Registrations::default();
    for description in ["first", "second"] {
        let added = registrations.add_tool("a".to_owned(), description.to_owned(), None);
        assert_eq!(added, Ok(()));
    }
    assert_eq!(registrations.tools.len(), 1);
    assert_eq!(registrations.tools[0].description, "second");
}
