use super::*;

fn definitions() -> Definitions {
    Definitions {
        functions: [("execute_bash".to_owned(), "bash".to_owned())].into(),
        skills: [("shell".to_owned(), Skill::default())].into(),
    }
}

#[test]
fn a_call_names_an_executor_and_a_task_a_skill() {
    let definitions = definitions();
    let body = "\n{\"name\": \"execute_bash\", \"arguments\": {\"code\": \"ls\\n\"}, \"id\": 1}\n";
    let expected = Interrupt::Execute {
        executor: "bash".to_owned(),
        code: "ls\n".to_owned(),
    };
    assert_eq!(read("tool_call", body, &definitions), Ok(expected));
    let body = r#"{"skill": "shell", "request": "list"}"#;
    let expected = Interrupt::Delegate {
        skill: &definitions.skills["shell"],
        request: "list".to_owned(),
    };
    assert_eq!(read("task", body, &definitions), Ok(expected));
}

#[test]
fn invalid_blocks_yield_an_error_for_the_model() {
    let cases = [
        (
            "tool_call",
            r#"{"name": "execute_ruby"}"#,
            "Error: Unknown tool function 'execute_ruby'",
        ),
        ("tool_call", "{}", "Error: Unknown tool function ''"),
        (
            "tool_call",
            r#"{"name": "execute_bash"}"#,
            "Error: Empty code block.",
        ),
        (
            "tool_call",
            r#"{"name": "execute_bash", "arguments": {"code": " \n"}}"#,
            "Error: Empty code block.",
        ),
        (
            "tool_call",
            "[]",
            "Malformed tool_call JSON: expected a JSON object",
        ),
        ("task", r#"{"skill": "x"}"#, "Error: Unknown skill 'x'"),
        (
            "task",
            r#"{"skill": "shell", "request": ""}"#,
            "Error: Empty task request.",
        ),
        ("task", "3", "Malformed task JSON: expected a JSON object"),
    ];
    let definitions = definitions();
    for (tag, body, expected) in cases {
        assert_eq!(
            read(tag, body, &definitions),
            Err(expected.to_owned()),
            "{body}"
        );
    }
    for body in [
        "",
        "{",
        r#"{"name": 5}"#,
        r#"{"name":"execute_bash","arguments":{"code":5}}"#,
    ] {
        let message = read("tool_call", body, &definitions).unwrap_err();
        assert!(
            message.starts_with("Malformed tool_call JSON: "),
            "{message}"
        );
    }
}
