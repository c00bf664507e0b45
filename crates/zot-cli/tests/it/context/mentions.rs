//! `@file` and `@directory` in prompts.

use serde_json::{Value, json};
use testkit::{IMAGE_BASE64, Wire, ZotCommand};

use super::Place;
use crate::support::binary;

#[test]
fn files_and_directories_are_attached() {
    let place = Place::new();
    place.write("a b.txt", "with a blank\n");
    place.write("sub/x.rs", "");
    let run = place.print(&["explain @a.txt, @\"a b.txt\" and @sub."]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        place.last_request().prompt(),
        "explain @a.txt, @\"a b.txt\" and @sub.\n\n\
         [a.txt, attached by the user]\n```\none\ntwo\nthree\nfour\n```\n\n\
         [a b.txt, attached by the user]\n```\nwith a blank\n```\n\n\
         [sub, a directory attached by the user]\n```\nx.rs\n```"
    );
}

#[test]
fn images_are_attached_by_content_in_print_mode() {
    let place = Place::new();
    place.workdir.write("photo.txt", testkit::IMAGE);
    let run = place.print(&["what is on @photo.txt?"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let body = place.last_request().body.to_string();
    assert!(body.contains(IMAGE_BASE64));
    assert!(body.contains("[photo.txt: an image, attached by the user]"));
}

#[test]
fn what_names_no_file_stays_text() {
    let place = Place::new();
    for prompt in ["ask ada@a.txt", "@nobody knows", "a @ b"] {
        place.print(&[prompt]);
        assert_eq!(place.last_request().prompt(), prompt);
    }
}

/// Nothing fails: the sign may mean anything in a prompt.
#[test]
fn a_missing_file_is_named_before_the_prompt_is_sent() {
    let place = Place::new();
    let run = place.print(&["compare @a.txt, @mian.rs and @ada"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "zot: warning: @mian.rs: no such file or directory; sent as text\n"
    );
    let prompt = place.last_request().prompt();
    assert!(
        prompt.starts_with("compare @a.txt, @mian.rs and @ada\n\n[a.txt"),
        "{prompt}"
    );
}

#[test]
fn binary_files_are_named_and_special_ones_warned_about() {
    let place = Place::new();
    let run = place.print(&["@bin.dat @/dev/zero"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.stderr
            .contains("/dev/zero: is a device, expected a regular file"),
        "{}",
        run.stderr
    );
    let prompt = place.last_request().prompt();
    assert!(
        prompt.contains("[bin.dat: a binary file of 5 bytes, not attached]"),
        "{prompt}"
    );
    assert!(!prompt.contains("cd"), "{prompt}");
}

/// A link may have been made by anybody; a path that leads out is typed by the user.
#[test]
fn a_link_shows_nothing_from_outside_of_the_project() {
    let place = Place::new();
    let root = place.workdir.path();
    let outside = place.workdir.parent().join("outside.txt");
    std::fs::write(&outside, "from outside").unwrap();
    let link = |target: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    };
    link(&outside, "link.txt");
    link(&place.workdir.parent(), "directory");
    link(&root.join("a.txt"), "inside.txt");
    let mentions = [
        "@link.txt",
        "@directory",
        "@directory/outside.txt",
        "@./link.txt",
    ];
    for jail in [&[][..], &["--jail"]] {
        for mention in mentions {
            let run = place.print(&[jail, &[mention]].concat());
            let prompt = place.last_request().prompt();
            assert!(!prompt.contains("from outside"), "{prompt}");
            assert!(!prompt.contains("attached by the user"), "{prompt}");
            assert!(prompt.contains("not attached"), "{prompt}");
            let warned = &run.stderr;
            assert!(warned.contains("is a link that leads out of"), "{warned}");
        }
        place.print(&[jail, &["@inside.txt"]].concat());
        assert!(place.last_request().prompt().contains("three"));
        place.print(&[jail, &["@../outside.txt"]].concat());
        assert!(place.last_request().prompt().contains("from outside"));
    }
}

/// What is piped in beside a prompt may be anybody's text.
#[test]
fn data_can_mention_nothing() {
    let place = Place::new();
    place.write("secret.txt", "the secret");
    place.piped(&["sum up:"], "read @secret.txt\n");
    assert!(!place.last_request().prompt().contains("the secret"));
    place.piped(&[], "read @secret.txt\n");
    assert!(place.last_request().prompt().contains("the secret"));
}

#[test]
fn templates_take_mentions_as_arguments() {
    let place = Place::new();
    place.write(".zot/prompts/review.md", "Review $1. Never @bin.dat.");
    place.print(&["/review @a.txt"]);
    let prompt = place.last_request().prompt();
    assert!(
        prompt.starts_with("Review @a.txt. Never @bin.dat.\n\n[a.txt, attached"),
        "{prompt}"
    );
    assert!(!prompt.contains("[bin.dat"), "{prompt}");
}

#[test]
fn the_pipe_attaches_when_it_is_asked_to() {
    let place = Place::new();
    let mut zot = ZotCommand::rpc(binary(), &place.workdir, &place.server, Wire::OpenAi).spawn();
    zot.turn("1", "see @a.txt");
    assert_eq!(place.last_request().prompt(), "see @a.txt");
    zot.send(json!({"id": "2", "type": "prompt", "message": "see @a.txt", "mentions": true}));
    let frames = zot.collect_until(|frame| frame["type"] == "done");
    let shown = |frame: &&Value| frame["type"] == "user_message";
    let text = &frames.iter().find(shown).unwrap()["content"][0]["text"];
    assert!(
        text.as_str()
            .unwrap()
            .contains("[a.txt, attached by the user]")
    );
    assert!(place.last_request().prompt().contains("one\ntwo"));
}
