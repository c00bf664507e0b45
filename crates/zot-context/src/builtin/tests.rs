use std::fs;
use std::path::Path;

use super::skills;

#[test]
fn every_skill_in_the_directory_is_built_in() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let built_in: Vec<String> = skills().into_iter().map(|skill| skill.name).collect();
    assert_eq!(built_in, names);
}

#[test]
fn built_in_skills_are_short_and_restrict_nothing() {
    for skill in skills() {
        assert!(skill.tokens() < 2_500, "{}: {}", skill.name, skill.tokens());
        assert_eq!(skill.allowed_tools, None);
        assert_eq!(skill.path, None);
    }
}
