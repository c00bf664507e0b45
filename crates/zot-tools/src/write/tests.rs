use std::os::unix::fs::{MetadataExt, symlink};

use serde_json::json;

use crate::test_support::Expected::{Error, Text};
use crate::test_support::Workspace;

#[tokio::test]
async fn recorded_variants() {
    let workspace = Workspace::recorded();
    for (arguments, expected) in [
        (
            json!({"path": "new/deep/x.txt", "content": "hello\n"}),
            Text("hello\n"),
        ),
        (
            json!({"path": "a.txt", "content": "overwritten"}),
            Text("overwritten"),
        ),
        (
            json!({"path": "sub", "content": "x"}),
            Error("open <cwd>/sub: is a directory"),
        ),
        (
            json!({"path": "a.txt/y", "content": "x"}),
            Error("mkdir <cwd>/a.txt: not a directory"),
        ),
        (
            json!({"path": "", "content": "x"}),
            Error("path is required"),
        ),
        (json!({"path": "empty.txt", "content": ""}), Text("")),
        (json!({"path": "e2.txt"}), Text("")),
        (json!({"content": "x"}), Error("path is required")),
        (
            json!({"path": 3, "content": "x"}),
            Error("invalid args: path must be a string, got a number"),
        ),
    ] {
        workspace.check("write", arguments, expected).await;
    }
    assert_eq!(workspace.content("new/deep/x.txt"), b"hello\n");
    assert_eq!(workspace.content("a.txt"), b"overwritten");
    assert_eq!(workspace.content("e2.txt"), b"");
    // The umask applies as for ordinary writing.
    std::fs::create_dir(workspace.path("plain")).unwrap();
    std::fs::write(workspace.path("plain/file"), "").unwrap();
    let mode = |name| std::fs::metadata(workspace.path(name)).unwrap().mode() & 0o777;
    assert_eq!(mode("new/deep/x.txt"), mode("plain/file"));
    assert_eq!(mode("new"), mode("plain"));
}

#[tokio::test]
async fn links_are_written_through() {
    let workspace = Workspace::recorded();
    symlink("a.txt", workspace.path("link")).unwrap();
    workspace
        .check("write", json!({"path": "link", "content": "x"}), Text("x"))
        .await;
    assert_eq!(workspace.content("a.txt"), b"x");
    assert!(workspace.path("link").is_symlink());
}

#[tokio::test]
async fn a_long_content_is_written_whole_and_shown_in_part() {
    let workspace = Workspace::recorded();
    let content = "0123456789\n".repeat(10_000);
    let output = workspace
        .call("write", json!({"path": "big", "content": content}))
        .await;
    assert_eq!(workspace.content("big"), content.as_bytes());
    assert!(
        output
            .joined_text()
            .ends_with("... [truncated at 2000 lines]\n")
    );
}
