//! Undoing the changes of `write` and `edit`.

use std::fs;

use serde_json::json;

use super::Project;

fn multi(calls: serde_json::Value) -> String {
    format!("multi:{calls}")
}

#[test]
fn the_files_of_a_prompt_are_restored_and_bash_is_reported() {
    let project = Project::new();
    let before = project.workdir.read("a.txt").unwrap();
    project.prompt(&[&multi(json!([
        {"name": "edit", "args": {"path": "a.txt", "edits": [{"oldText": "two", "newText": "2"}]}},
        {"name": "write", "args": {"path": "deep/new.txt", "content": "new"}},
        {"name": "bash", "args": {"command": "echo x > by-bash.txt"}},
        {"name": "write", "args": {"path": "a.txt", "content": "gone"}},
    ]))]);
    assert_eq!(project.workdir.read("a.txt").unwrap(), "gone");
    let ended = project.sessions(&["undo"]);
    let path = |name: &str| project.workdir.path().join(name).display().to_string();
    assert_eq!(
        ended.stdout,
        format!(
            "restored  {}\nremoved   {} (it was new)\nnot covered: bash echo x > by-bash.txt\n",
            path("a.txt"),
            path("deep/new.txt")
        )
    );
    assert_eq!(project.workdir.read("a.txt").unwrap(), before);
    assert_eq!(project.workdir.read("deep/new.txt"), None);
    assert_eq!(project.workdir.read("by-bash.txt").as_deref(), Some("x\n"));

    let nothing = project.zot().arguments(["sessions", "undo"]).run("");
    assert_eq!(nothing.code, Some(1));
    assert!(
        nothing.stdout.starts_with("nothing to undo"),
        "{}",
        nothing.stdout
    );
}

#[test]
fn several_prompts_are_undone_over_several_runs() {
    let project = Project::new();
    let before = project.workdir.read("a.txt").unwrap();
    let write = |content: &str| {
        let arguments = json!({"path": "a.txt", "content": content});
        format!("tool:write:{arguments}")
    };
    project.prompt(&[&write("1")]);
    project.prompt(&["--continue", "say:1"]);
    project.prompt(&["--continue", &write("2")]);
    project.prompt(&["--continue", &write("3")]);
    project.sessions(&["undo"]);
    assert_eq!(project.workdir.read("a.txt").as_deref(), Some("2"));
    project.sessions(&["undo", "2"]);
    assert_eq!(project.workdir.read("a.txt"), Some(before));
}

#[test]
fn a_file_changed_since_is_kept_unless_forced() {
    let project = Project::new();
    let before = project.workdir.read("a.txt").unwrap();
    project.prompt(&["tool:write:{\"path\":\"a.txt\",\"content\":\"tool\"}"]);
    project.workdir.write("a.txt", "mine");
    let left = project.zot().arguments(["sessions", "undo"]).run("");
    assert_eq!(left.code, Some(1));
    assert!(left.stdout.contains("changed since"), "{}", left.stdout);
    assert_eq!(project.workdir.read("a.txt").as_deref(), Some("mine"));

    let forced = project.sessions_json(&["undo", "--force"]);
    let kept = forced["files"][0]["detail"].as_str().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    assert_eq!(project.workdir.read("a.txt"), Some(before));
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let project = Project::new();
    let root = project.workdir.path();
    std::os::unix::fs::symlink("a.txt", root.join("link.txt")).unwrap();
    let before = project.workdir.read("a.txt").unwrap();
    project.prompt(&["tool:write:{\"path\":\"link.txt\",\"content\":\"through\"}"]);
    assert_eq!(project.workdir.read("a.txt").as_deref(), Some("through"));
    project.sessions(&["undo"]);
    assert_eq!(project.workdir.read("a.txt"), Some(before));
    assert!(root.join("link.txt").is_symlink());
}

#[test]
fn nothing_is_changed_without_a_checkpoint() {
    let project = Project::new();
    project.prompt(&["say:1"]);
    let beside = project.only_file().with_extension("files");
    fs::write(&beside, "in the way").unwrap();
    let before = project.workdir.read("a.txt").unwrap();
    project.prompt(&[
        "--continue",
        "tool:write:{\"path\":\"a.txt\",\"content\":\"x\"}",
    ]);
    assert_eq!(project.workdir.read("a.txt"), Some(before));
    let body = project.server.requests().pop().unwrap().body.to_string();
    assert!(body.contains("cannot keep a copy for undo"), "{body}");
}
