use serde_json::json;

use super::{AllowedTools, Skill, SkillSource, Text, check_skill_name};

fn parse(text: &str) -> Result<Skill, String> {
    let origin = Text::BuiltIn("");
    Skill::parse(text, "directory", SkillSource::Project, origin)
        .map(|(skill, _)| skill)
        .map_err(|cause| cause.to_string())
}

#[test]
fn the_front_matter_says_what_a_skill_is() {
    let skill = parse(
        "---\nname: deploy\ndescription: |\n  Puts things\n  into production.\nallowed-tools: Read, bash\n\
         permissions: [network]\nlicense: MIT\n---\n# Deploy\n",
    )
    .unwrap();
    assert_eq!(skill.name, "deploy");
    assert_eq!(skill.description, "Puts things into production.");
    assert_eq!(skill.allowed_tools.unwrap().names(), ["read", "bash"]);
    assert_eq!(skill.permissions, Some(json!(["network"])));
    assert_eq!(skill.length, "# Deploy\n".len());
}

#[test]
fn the_directory_names_a_skill_that_does_not() {
    let skill = parse("---\ndescription: d\n---\nbody").unwrap();
    assert_eq!(skill.name, "directory");
    assert_eq!(skill.allowed_tools, None);
}

#[test]
fn what_is_missing_is_named() {
    for (text, expected) in [
        ("no front matter", "it needs a description"),
        ("---\ndescription: \" \"\n---\nx", "it needs a description"),
        (
            "---\ndescription: [a]\n---\nx",
            "its description must be a text",
        ),
        (
            "---\ndescription: d\nname: a b\n---\nx",
            "\"a b\" is no name",
        ),
        (
            "---\ndescription: d\nname: ../x\n---\nx",
            "\"../x\" is no name",
        ),
        (
            "---\ndescription: d\n---\n\n",
            "no text after the front matter",
        ),
        (
            "---\ndescription: d\nallowed-tools: {a: b}\n---\nx",
            "its allowed-tools must be",
        ),
        ("---\ndescription: d", "its front matter has no end"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    let long = format!("---\ndescription: {}\n---\nx", "d".repeat(1025));
    assert!(parse(&long).unwrap_err().contains("longer than 1024"));
}

#[test]
fn allowed_tools_come_in_several_forms() {
    let allowed = |value| AllowedTools::of(&value).unwrap();
    for value in [
        json!("Read, Bash(git add:*), Bash(git status)"),
        json!("Read Bash(git add:*) Bash(git status)"),
        json!(["Read", "Bash(git add:*)", "Bash(git status)"]),
    ] {
        let allowed = allowed(value);
        assert_eq!(allowed.names(), ["read", "bash"]);
        assert_eq!(allowed.patterns(), ["Bash(git add:*)", "Bash(git status)"]);
        assert!(allowed.allows("read") && allowed.allows("bash") && !allowed.allows("write"));
    }
    assert!(!allowed(json!([])).allows("read"));
}

#[test]
fn names_are_words() {
    for good in ["a", "write-zot-extension", "v1.2_x"] {
        assert!(check_skill_name(good).is_ok(), "{good}");
    }
    for bad in ["", ".", "..", ".hidden", "a/b", "a b", "ä", &"x".repeat(65)] {
        assert!(check_skill_name(bad).is_err(), "{bad}");
    }
}
