//! `--resume` and `-r`: with an id, and before a prompt as in the original.

use testkit::Workdir;

use super::{Ran, run_in};

/// A directory with one session, and the beginning of its id.
fn with_session() -> (Workdir, String) {
    let ran = run_in(Workdir::new("work"), &["-p", "the first prompt"], "");
    let list = testkit::ZotCommand::new(crate::support::binary(), &ran.workdir)
        .arguments(["sessions", "list", "--json"])
        .run("");
    let sessions: serde_json::Value = serde_json::from_str(&list.stdout).expect("a list");
    let id = sessions[0]["id"].as_str().expect("an id")[..8].to_owned();
    (ran.workdir, id)
}

fn assert_refused(ran: &Ran, part: &str) {
    assert_eq!(ran.ended.code, Some(2), "{}", ran.ended.stderr);
    assert!(ran.ended.stderr.contains(part), "{}", ran.ended.stderr);
    assert!(ran.requests.is_empty(), "nothing is sent");
}

#[test]
fn without_any_session_the_words_are_the_first_prompt() {
    for arguments in [
        &["-p", "-r", "say two words"][..],
        &["-p", "--resume", "say two words"],
        &["-p", "say", "-r", "two", "words"],
        &["-p", "-r", "say", "two", "words"],
        &["-r", "say", "--resume", "two", "words", "-p"],
        &["-p", "say two words", "--resume"],
        &["-p", "-r", "--", "say", "two", "words"],
    ] {
        let ran = run_in(Workdir::new("work"), arguments, "");
        assert_eq!(
            ran.ended.code,
            Some(0),
            "{arguments:?}: {}",
            ran.ended.stderr
        );
        assert_eq!(ran.prompts(), ["say two words"], "{arguments:?}");
        assert_eq!(ran.session_files(), 1);
        assert!(
            ran.ended
                .stderr
                .contains("no session in this directory yet")
        );
    }
}

#[test]
fn an_id_names_a_session_wherever_the_prompt_is() {
    for (before, after) in [(&[][..], &["and then?"][..]), (&["and then?"], &[])] {
        for flag in ["-r", "--resume"] {
            let (workdir, id) = with_session();
            let mut arguments = vec!["-p"];
            arguments.extend(before);
            arguments.extend([flag, &id]);
            arguments.extend(after);
            let ran = run_in(workdir, &arguments, "");
            assert_eq!(ran.ended.code, Some(0), "{}", ran.ended.stderr);
            assert_eq!(ran.prompts(), ["the first prompt", "and then?"]);
        }
    }
}

#[test]
fn a_number_on_standard_input_picks_a_session_and_the_rest_is_the_prompt() {
    let (workdir, _) = with_session();
    let ran = run_in(workdir, &["-p", "-r", "and then?"], "1\n");
    assert_eq!(ran.ended.code, Some(0), "{}", ran.ended.stderr);
    assert_eq!(ran.prompts(), ["the first prompt", "and then?"]);

    let (workdir, _) = with_session();
    let ran = run_in(workdir, &["--json", "-r", "and then?"], "1\nwith this\n");
    assert_eq!(
        ran.prompts(),
        ["the first prompt", "and then?\n\nwith this\n"]
    );
}

#[test]
fn without_a_number_nothing_is_sent() {
    for stdin in ["", "0\n", "2\n", "one\n", "-1\n"] {
        let (workdir, id) = with_session();
        let ran = run_in(workdir, &["-p", "-r", "and then?"], stdin);
        assert_refused(&ran, "which session?");
        assert!(ran.ended.stderr.contains(&id), "it is listed");
    }
    let (workdir, _) = with_session();
    let ran = run_in(workdir, &["-p", "-n", "-r", "and then?"], "1\n");
    assert_refused(&ran, "which session?");
    // A word may have been meant as an id.
    let (workdir, _) = with_session();
    let ran = run_in(workdir, &["-p", "-r", "nothing", "else"], "");
    assert_refused(&ran, "no session \"nothing\"");
}

#[test]
fn a_mistyped_id_or_path_is_never_sent() {
    for value in [
        "deadbeef",
        "24c2f16g",
        "add",
        "./gone.jsonl",
        "gone.jsonl",
        "/tmp/gone",
    ] {
        let (workdir, _) = with_session();
        let ran = run_in(workdir, &["-p", "-r", value, "hi"], "");
        assert_refused(&ran, value);
        assert!(
            ran.ended.stderr.contains("no session"),
            "{}",
            ran.ended.stderr
        );
    }
    // After -- it is a word.
    let ran = run_in(Workdir::new("work"), &["-p", "-r", "--", "add", "it"], "");
    assert_eq!(ran.prompts(), ["add it"]);
}

#[test]
fn two_sessions_at_once_are_a_mistake() {
    for others in [&["-c"][..], &["--session", "other.jsonl"]] {
        let (workdir, id) = with_session();
        let mut arguments = vec!["-p", "--resume", &id];
        arguments.extend(others);
        arguments.push("hi");
        let ran = run_in(workdir, &arguments, "");
        assert_refused(&ran, "cannot be combined");
    }
}
