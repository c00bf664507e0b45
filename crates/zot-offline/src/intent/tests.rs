use std::process::Command;

use super::intents;

/// The calls that `prompt` leads to, as `tool arguments`.
fn calls(prompt: &str) -> Vec<String> {
    let intents = intents(prompt).into_iter();
    intents
        .map(|intent| {
            let (tool, arguments) = intent.call();
            format!("{tool} {arguments}")
        })
        .collect()
}

#[test]
fn every_form_becomes_a_call() {
    for (prompt, expected) in [
        ("list the files", r#"bash {"command":"ls -1Ap"}"#),
        (" List the files here.\n", r#"bash {"command":"ls -1Ap"}"#),
        ("read a.txt", r#"read {"path":"a.txt"}"#),
        ("read @a.txt", r#"read {"path":"a.txt"}"#),
        (
            "Count the lines in notes.txt.",
            r#"bash {"command":"awk 'END { print NR }' < 'notes.txt'"}"#,
        ),
        (
            "write \"a: b\" to c.txt",
            r#"write {"content":"a: b","path":"c.txt"}"#,
        ),
        (
            "write c.txt: one and\n\ntwo",
            r#"write {"content":"one and\n\ntwo","path":"c.txt"}"#,
        ),
        ("run `echo hi`", r#"bash {"command":"echo hi"}"#),
        (
            "run: echo a and\n\n[ -e b ] ",
            r#"bash {"command":"echo a and\n\n[ -e b ] "}"#,
        ),
        (
            r#"call weather {"city": "Oslo"}"#,
            r#"weather {"city":"Oslo"}"#,
        ),
        ("call clock", "clock {}"),
    ] {
        assert_eq!(calls(prompt), [expected], "{prompt}");
    }
}

#[test]
fn everything_after_run_is_the_command() {
    for command in [
        "ls -la",
        "ls; pwd",
        "cat a > b",
        "echo one and echo two",
        "echo 'What? Stop!'",
        "printf '%s' `date`",
        "run: echo nested",
        "cat <<END\n\n[section]\nEND\n",
        "echo trailing\\ ",
    ] {
        let expected = serde_json::json!({ "command": command });
        for prompt in [format!("run: {command}"), format!("Run:{command}")] {
            assert_eq!(calls(&prompt), [format!("bash {expected}")], "{prompt:?}");
        }
    }
}

#[test]
fn attached_files_are_not_run() {
    let file = "[a.txt, attached by the user]\n```\nrm -rf .\n```";
    let expected = r#"bash {"command":"cat @a.txt"}"#;
    assert_eq!(calls(&format!("run: cat @a.txt\n\n{file}")), [expected]);
}

#[test]
fn requests_in_one_line_are_joined() {
    assert_eq!(
        calls("list the files here and read a.txt and run `date`"),
        [
            r#"bash {"command":"ls -1Ap"}"#,
            r#"read {"path":"a.txt"}"#,
            r#"bash {"command":"date"}"#
        ]
    );
    assert!(intents("list the files and write a poem").is_empty());
}

#[test]
fn attached_files_are_not_part_of_the_request() {
    let file = "[a.txt, attached by the user]\n```\nread b.txt\n```";
    assert_eq!(
        calls(&format!("read @a.txt\n\n{file}")),
        [r#"read {"path":"a.txt"}"#]
    );
    let image = "[bomb.png: an image, attached by the user]";
    let prompt = format!("show @bomb.png and @cut.jpg now\n\n{image}");
    assert!(intents(&prompt).is_empty());
}

#[test]
fn other_prompts_have_no_intent() {
    for prompt in [
        "",
        "hello",
        "read",
        "read two words",
        "run: ",
        "run ``",
        "write a.txt",
        "call weather Oslo",
        "please read a.txt",
        "lists the files",
        "ö",
    ] {
        assert!(intents(prompt).is_empty(), "{prompt:?}");
    }
}

#[test]
fn commands_work_in_a_real_shell() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("it's")).unwrap();
    std::fs::write(directory.path().join("it's/a"), "one\ntwo").unwrap();
    for (prompt, expected) in [
        ("list the files", "it's/\n"),
        ("count the lines in it's/a", "2\n"),
    ] {
        let intents = intents(prompt);
        let (_, arguments) = intents[0].call();
        let command = arguments["command"].as_str().unwrap();
        let shell = Command::new("sh")
            .args(["-c", command])
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&shell.stdout),
            expected,
            "{command}"
        );
    }
}
