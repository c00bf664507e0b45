//! `@file` and `@directory` in prompts.

use serde_json::{Value, json};
use testkit::{IMAGE_BASE64, Wire, ZotCommand};

use super::Project;
use crate::support::binary;

#[test]
fn files_and_directories_are_attached() {
    let project = Project::new();
    project.write("a b.txt", "with a blank\n");
    project.write("sub/x.rs", "");
    let run = project.print(&["explain @a.txt, @\"a b.txt\" and @sub."]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        project.last_request().prompt(),
        "explain @a.txt, @\"a b.txt\" and @sub.\n\n\
         [a.txt, attached by the user]\n```\none\ntwo\nthree\nfour\n```\n\n\
         [a b.txt, attached by the user]\n```\nwith a blank\n```\n\n\
         [sub, a directory attached by the user]\n```\nx.rs\n```"
    );
}

#[test]
fn images_are_attached_by_content_in_print_mode() {
    let project = Project::new();
    project.workdir.write("photo.txt", testkit::IMAGE);
    let run = project.print(&["what is on @photo.txt?"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let body = project.last_request().body.to_string();
    assert!(body.contains(IMAGE_BASE64));
    assert!(body.contains("[photo.txt: an image, attached by the user]"));
}

#[test]
fn words_that_are_not_files_stay_text() {
    let project = Project::new();
    for prompt in ["ask ada@a.txt", "@nobody knows", "a @ b"] {
        project.print(&[prompt]);
        assert_eq!(project.last_request().prompt(), prompt);
    }
}

/// This is not an error: an @ can mean anything in a prompt.
#[test]
fn a_missing_file_is_named_before_the_prompt_is_sent() {
    let project = Project::new();
    let run = project.print(&["compare @a.txt, @mian.rs and @ada"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "zot: warning: @mian.rs: no such file or directory; sent as text\n"
    );
    let prompt = project.last_request().prompt();
    assert!(
        prompt.starts_with("compare @a.txt, @mian.rs and @ada\n\n[a.txt"),
        "{prompt}"
    );
}

#[test]
fn binary_files_are_mentioned_and_special_ones_cause_a_warning() {
    let project = Project::new();
    let run = project.print(&["@bin.dat @/dev/zero"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.stderr
            .contains("/dev/zero: is a device, expected a regular file"),
        "{}",
        run.stderr
    );
    let prompt = project.last_request().prompt();
    assert!(
        prompt.contains("[bin.dat: a binary file of 5 bytes, not attached]"),
        "{prompt}"
    );
    assert!(!prompt.contains("cd"), "{prompt}");
}

/// Anybody may have created a link, but only the user types a path that leads out of the project.
#[test]
fn a_link_does_not_show_files_outside_the_project() {
    let project = Project::new();
    let root = project.workdir.path();
    let outside = project.workdir.parent().join("outside.txt");
    std::fs::write(&outside, "from outside").unwrap();
    let link = |target: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    };
    link(&outside, "link.txt");
    link(&project.workdir.parent(), "directory");
    link(&root.join("a.txt"), "inside.txt");
    let mentions = [
        "@link.txt",
        "@directory",
        "@directory/outside.txt",
        "@./link.txt",
    ];
    for jail in [&[][..], &["--jail"]] {
        for mention in mentions {
            let run = project.print(&[jail, &[mention]].concat());
            let prompt = project.last_request().prompt();
            assert!(!prompt.contains("from outside"), "{prompt}");
            assert!(!prompt.contains("attached by the user"), "{prompt}");
            assert!(prompt.contains("not attached"), "{prompt}");
            let warned = &run.stderr;
            assert!(warned.contains("is a link that leads out of"), "{warned}");
        }
        project.print(&[jail, &["@inside.txt"]].concat());
        assert!(project.last_request().prompt().contains("three"));
        project.print(&[jail, &["@../outside.txt"]].concat());
        assert!(project.last_request().prompt().contains("from outside"));
    }
}

/// Text piped in beside a prompt may be written by anybody.
#[test]
fn piped_data_cannot_mention_files() {
    let project = Project::new();
    project.write("secret.txt", "the secret");
    project.piped(&["sum up:"], "read @secret.txt\n");
    assert!(!project.last_request().prompt().contains("the secret"));
    project.piped(&[], "read @secret.txt\n");
    assert!(project.last_request().prompt().contains("the secret"));
}

#[test]
fn templates_take_mentions_as_arguments() {
    let project = Project::new();
    project.write(".zot/prompts/review.md", "Review $1. Never @bin.dat.");
    project.print(&["/review @a.txt"]);
    let prompt = project.last_request().prompt();
    assert!(
        prompt.starts_with("Review @a.txt. Never @bin.dat.\n\n[a.txt, attached"),
        "{prompt}"
    );
    assert!(!prompt.contains("[bin.dat"), "{prompt}");
}

#[test]
fn the_pipe_attaches_files_on_request() {
    let project = Project::new();
    let mut zot =
        ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi).spawn();
    zot.turn("1", "see @a.txt");
    assert_eq!(project.last_request().prompt(), "see @a.txt");
    zot.send(json!({"id": "2", "type": "prompt", "message": "see @a.txt", "mentions": true}));
    let frames = zot.collect_until(|frame| frame["type"] == "done");
    let shown = |frame: &&Value| frame["type"] == "user_message";
    let text = &frames.iter().find(shown).unwrap()["content"][0]["text"];
    assert!(
        text.as_str()
            .unwrap()
            .contains("[a.txt, attached by the user]")
    );
    assert!(project.last_request().prompt().contains("one\ntwo"));
}
