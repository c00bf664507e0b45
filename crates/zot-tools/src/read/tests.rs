use std::io::{Seek, SeekFrom, Write};

use serde_json::json;
use zot_conversation::ContentBlock;

use super::MAX_READ_IMAGE_BYTES;
use crate::limits::MAX_RESULT_BYTES;
use crate::test_support::Expected::{Error, Text};
use crate::test_support::{Workspace, make_fifo};

#[tokio::test]
async fn recorded_variants() {
    let workspace = Workspace::recorded();
    let long: String = (0..2000).map(|line| format!("line {line}\n")).collect();
    let long = format!("{long}... [truncated at 2000 lines]\n");
    let all = "one\ntwo\nthree\nfour\n";
    for (arguments, expected) in [
        (json!({"path": "a.txt"}), Text(all)),
        (
            json!({"path": "a.txt", "offset": 2, "limit": 2}),
            Text("two\nthree\n"),
        ),
        (json!({"path": "a.txt", "offset": 99}), Text("")),
        (
            json!({"path": "a.txt", "offset": -1, "limit": -1}),
            Text(all),
        ),
        (
            json!({"path": "missing.txt"}),
            Error("stat <cwd>/missing.txt: no such file or directory"),
        ),
        (json!({"path": "sub"}), Error("<cwd>/sub is a directory")),
        (
            json!({"path": "bin.dat"}),
            Error("bin.dat looks binary; refusing to read as text"),
        ),
        (json!({"path": "nonl.txt"}), Text("no newline at end\n")),
        (
            json!({"path": "crlf.txt"}),
            Text("\u{feff}line1\r\nline2\r\nline3\r\n"),
        ),
        (json!({"path": ""}), Error("path is required")),
        (json!({}), Error("path is required")),
        (json!({"path": "long.txt"}), Text(&long)),
        (
            json!({"path": "long.txt", "offset": 2990, "limit": 5}),
            Text("line 2989\nline 2990\nline 2991\nline 2992\nline 2993\n"),
        ),
        (
            json!({"path": "/etc/hostname_does_not_exist"}),
            Error("stat /etc/hostname_does_not_exist: no such file or directory"),
        ),
        (json!({"path": "sub/.."}), Error("<cwd> is a directory")),
        (
            json!({"path": "a.txt", "offset": "2"}),
            Error("invalid args: offset must be an integer, got a string"),
        ),
    ] {
        workspace.check("read", arguments, expected).await;
    }
}

#[tokio::test]
async fn exactly_the_limit_is_not_truncated() {
    let workspace = Workspace::recorded();
    let lines = "x\n".repeat(2000);
    std::fs::write(workspace.path("exact"), &lines).unwrap();
    std::fs::write(workspace.path("over"), format!("{lines}y")).unwrap();
    workspace
        .check("read", json!({"path": "exact"}), Text(&lines))
        .await;
    workspace
        .check("read", json!({"path": "over", "limit": 2000}), Text(&lines))
        .await;
    let cut = format!("{lines}... [truncated at 2000 lines]\n");
    workspace
        .check("read", json!({"path": "over", "limit": 5000}), Text(&cut))
        .await;
}

#[tokio::test]
async fn byte_limit_says_where_to_go_on_and_going_on_works() {
    let workspace = Workspace::recorded();
    let line = |number: usize| format!("{number:05} {}\n", "é".repeat(100));
    let content: String = (1..=1000).map(line).collect();
    std::fs::write(workspace.path("wide"), &content).unwrap();

    let mut seen = String::new();
    let mut offset = 1;
    for _ in 0..10 {
        let output = workspace
            .call("read", json!({"path": "wide", "offset": offset}))
            .await;
        let text = output.joined_text();
        assert!(text.len() < MAX_RESULT_BYTES + 100);
        let Some((part, note)) = text.split_once("... [truncated at 50 KiB; continue with offset ")
        else {
            seen.push_str(&text);
            break;
        };
        seen.push_str(part);
        offset = note.trim_end_matches("]\n").parse().unwrap();
    }
    assert_eq!(seen, content);
}

#[tokio::test]
async fn a_line_over_the_limit_is_cut_between_characters() {
    let workspace = Workspace::recorded();
    let content = format!("x{}\nnext\n", "é".repeat(MAX_RESULT_BYTES));
    std::fs::write(workspace.path("wide"), content).unwrap();
    let text = workspace
        .call("read", json!({"path": "wide"}))
        .await
        .joined_text();
    let note = "é\n... [line 1 is longer than 50 KiB and was cut; continue with offset 2]\n";
    assert!(text.ends_with(note), "{}", &text[text.len() - 100..]);
    assert!(!text.contains('\u{fffd}'));
    workspace
        .check("read", json!({"path": "wide", "offset": 2}), Text("next\n"))
        .await;
}

#[tokio::test]
async fn an_offset_far_behind_the_byte_limit_works() {
    let workspace = Workspace::recorded();
    let mut file = std::fs::File::create(workspace.path("huge")).unwrap();
    file.write_all("head\n".repeat(100_000).as_bytes()).unwrap();
    // A hole: one very long line that takes no space on disk.
    file.seek(SeekFrom::Start(64 * 1024 * 1024)).unwrap();
    file.write_all(b"\ntail\n").unwrap();
    drop(file);
    workspace
        .check(
            "read",
            json!({"path": "huge", "offset": 100_002}),
            Text("tail\n"),
        )
        .await;
}

#[tokio::test]
async fn images_are_known_by_their_bytes() {
    let workspace = Workspace::recorded();
    for (content, mime_type) in [
        (&b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a\0rest", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
    ] {
        std::fs::write(workspace.path("misnamed.txt"), content).unwrap();
        let output = workspace
            .call("read", json!({"path": "misnamed.txt"}))
            .await;
        assert!(!output.is_error);
        let [ContentBlock::Image(image)] = output.content.as_slice() else {
            panic!("{:?}", output.content);
        };
        assert_eq!(image.mime_type, mime_type);
        assert_eq!(image.data, content);
    }
    std::fs::write(workspace.path("not.png"), "text\n").unwrap();
    workspace
        .check("read", json!({"path": "not.png"}), Text("text\n"))
        .await;

    let big = std::fs::File::options()
        .write(true)
        .open(workspace.path("pic.png"))
        .unwrap();
    big.set_len(MAX_READ_IMAGE_BYTES + 1).unwrap();
    workspace
        .check(
            "read",
            json!({"path": "pic.png"}),
            Error("<cwd>/pic.png has 20971521 bytes; the limit for images is 20971520"),
        )
        .await;
}

#[tokio::test]
async fn fifos_do_not_hang_and_odd_bytes_do_not_fail() {
    let workspace = Workspace::recorded();
    make_fifo(&workspace.path("fifo"));
    workspace
        .check(
            "read",
            json!({"path": "fifo"}),
            Error("<cwd>/fifo is a named pipe, not a regular file"),
        )
        .await;
    std::fs::write(workspace.path("latin"), b"caf\xe9\n").unwrap();
    workspace
        .check("read", json!({"path": "latin"}), Text("caf\u{fffd}\n"))
        .await;
    std::fs::write(workspace.path("empty"), b"").unwrap();
    workspace
        .check("read", json!({"path": "empty"}), Text(""))
        .await;
    std::os::unix::fs::symlink("a.txt", workspace.path("link")).unwrap();
    workspace
        .check("read", json!({"path": "link", "limit": 1}), Text("one\n"))
        .await;
}
