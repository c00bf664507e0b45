//! Bringing back what `write` and `edit` changed.

use std::fs;

use serde_json::json;

use super::Place;

fn multi(calls: serde_json::Value) -> String {
    format!("multi:{calls}")
}

#[test]
fn the_files_of_a_prompt_come_back_and_bash_is_named() {
    let place = Place::new();
    let before = place.workdir.read("a.txt").unwrap();
    place.prompt(&[&multi(json!([
        {"name": "edit", "args": {"path": "a.txt", "edits": [{"oldText": "two", "newText": "2"}]}},
        {"name": "write", "args": {"path": "deep/new.txt", "content": "new"}},
        {"name": "bash", "args": {"command": "echo x > by-bash.txt"}},
        {"name": "write", "args": {"path": "a.txt", "content": "gone"}},
    ]))]);
    assert_eq!(place.workdir.read("a.txt").unwrap(), "gone");
    let ended = place.sessions(&["undo"]);
    let path = |name: &str| place.workdir.path().join(name).display().to_string();
    assert_eq!(
        ended.stdout,
        format!(
            "restored  {}\nremoved   {} (it was new)\nnot covered: bash echo x > by-bash.txt\n",
            path("a.txt"),
            path("deep/new.txt")
        )
    );
    assert_eq!(place.workdir.read("a.txt").unwrap(), before);
    assert_eq!(place.workdir.read("deep/new.txt"), None);
    assert_eq!(place.workdir.read("by-bash.txt").as_deref(), Some("x\n"));

    let nothing = place.zot().arguments(["sessions", "undo"]).run("");
    assert_eq!(nothing.code, Some(1));
    assert!(
        nothing.stdout.starts_with("nothing to undo"),
        "{}",
        nothing.stdout
    );
}

#[test]
fn several_prompts_are_undone_over_several_runs() {
    let place = Place::new();
    let before = place.workdir.read("a.txt").unwrap();
    let write = |content: &str| {
        let arguments = json!({"path": "a.txt", "content": content});
        format!("tool:write:{arguments}")
    };
    place.prompt(&[&write("1")]);
    place.prompt(&["--continue", "say:1"]);
    place.prompt(&["--continue", &write("2")]);
    place.prompt(&["--continue", &write("3")]);
    place.sessions(&["undo"]);
    assert_eq!(place.workdir.read("a.txt").as_deref(), Some("2"));
    place.sessions(&["undo", "2"]);
    assert_eq!(place.workdir.read("a.txt"), Some(before));
}

#[test]
fn a_file_that_was_changed_since_is_left_unless_told_otherwise() {
    let place = Place::new();
    let before = place.workdir.read("a.txt").unwrap();
    place.prompt(&["tool:write:{\"path\":\"a.txt\",\"content\":\"tool\"}"]);
    place.workdir.write("a.txt", "mine");
    let left = place.zot().arguments(["sessions", "undo"]).run("");
    assert_eq!(left.code, Some(1));
    assert!(left.stdout.contains("changed since"), "{}", left.stdout);
    assert_eq!(place.workdir.read("a.txt").as_deref(), Some("mine"));

    let forced = place.sessions_json(&["undo", "--force"]);
    let kept = forced["files"][0]["detail"].as_str().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    assert_eq!(place.workdir.read("a.txt"), Some(before));
}

#[test]
fn a_link_is_followed_and_stays_one() {
    let place = Place::new();
    let root = place.workdir.path();
    std::os::unix::fs::symlink("a.txt", root.join("link.txt")).unwrap();
    let before = place.workdir.read("a.txt").unwrap();
    place.prompt(&["tool:write:{\"path\":\"link.txt\",\"content\":\"through\"}"]);
    assert_eq!(place.workdir.read("a.txt").as_deref(), Some("through"));
    place.sessions(&["undo"]);
    assert_eq!(place.workdir.read("a.txt"), Some(before));
    assert!(root.join("link.txt").is_symlink());
}

#[test]
fn nothing_is_changed_that_could_not_be_kept() {
    let place = Place::new();
    place.prompt(&["say:1"]);
    let beside = place.only_file().with_extension("files");
    fs::write(&beside, "in the way").unwrap();
    let before = place.workdir.read("a.txt").unwrap();
    place.prompt(&[
        "--continue",
        "tool:write:{\"path\":\"a.txt\",\"content\":\"x\"}",
    ]);
    assert_eq!(place.workdir.read("a.txt"), Some(before));
    let body = place.server.requests().pop().unwrap().body.to_string();
    assert!(body.contains("cannot keep a copy for undo"), "{body}");
}
