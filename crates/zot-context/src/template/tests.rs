use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{TemplateSource, Templates};

fn templates(root: &Path, files: &[(&str, &str)]) -> Templates {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(root.join("cwd")).unwrap();
    Templates::usual(&root.join("cwd"), &root.join("home"))
}

#[test]
fn the_project_wins_and_broken_ones_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let templates = templates(
        directory.path(),
        &[
            (
                "cwd/.zot/prompts/review.md",
                "---\ndescription: Look at it.\n---\nReview $1.\n",
            ),
            ("home/prompts/review.md", "mine"),
            ("home/prompts/explain.md", "\n# Explain this\n\nmore"),
            ("home/prompts/bad.md", "---\na: b"),
            ("home/prompts/bad name.md", "x"),
            ("home/prompts/notes.txt", "x"),
            ("home/prompts/.hidden.md", "x"),
        ],
    );
    let (list, problems) = templates.list();
    let shown: Vec<_> = list
        .iter()
        .map(|template| {
            (
                template.name.as_str(),
                template.description.as_str(),
                template.source,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("explain", "Explain this", TemplateSource::User),
            ("review", "Look at it.", TemplateSource::Project),
        ]
    );
    assert_eq!(problems.len(), 2);
    assert_eq!(
        templates.expand("/review a b").unwrap().unwrap(),
        "Review a."
    );
}

#[test]
fn only_a_known_name_at_the_beginning_is_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let templates = templates(directory.path(), &[("home/prompts/say.md", "Say $@!")]);
    for (text, expected) in [
        ("/say hi", Some("Say hi!")),
        ("  /say hi  you ", Some("Say hi  you!")),
        ("/say", Some("Say !")),
        ("/say hi\nfirst\nsecond\n", Some("Say hi!\n\nfirst\nsecond")),
        ("/say\n\ndiff", Some("Say !\n\ndiff")),
        ("/other hi", None),
        ("/say/hi", None),
        ("/../home/prompts/say", None),
        ("please /say hi", None),
        ("/", None),
        ("", None),
        ("/usr/bin/env is a program", None),
    ] {
        assert_eq!(
            templates.expand(text).unwrap().as_deref(),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn a_broken_template_that_is_asked_for_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let templates = templates(directory.path(), &[("home/prompts/bad.md", "---\na: b")]);
    assert!(templates.expand("/bad").is_err());
}

#[test]
fn a_template_of_a_project_stays_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let templates = templates(
        directory.path(),
        &[("secret", "key"), ("cwd/.zot/prompts/a.md", "a")],
    );
    symlink(
        "../../../secret",
        directory.path().join("cwd/.zot/prompts/leak.md"),
    )
    .unwrap();
    assert!(templates.expand("/leak").is_err());
    assert!(templates.expand("/a").unwrap().is_some());
}

#[test]
fn a_template_that_does_not_exist_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let templates = templates(directory.path(), &[("home/prompts/review.md", "x")]);
    assert_eq!(templates.missing("/reviw a b\nc"), Some("reviw"));
    for text in [
        "/review a",
        "see /reviw",
        "/no/such/file is gone",
        "/tmp is full",
        "/",
        "hi",
    ] {
        assert_eq!(templates.missing(text), None, "{text}");
    }
}
