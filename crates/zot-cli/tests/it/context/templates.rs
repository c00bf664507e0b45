//! Prompt templates, in print mode and over the pipe.

use serde_json::json;
use testkit::{ScriptedExtension, Wire, ZotCommand};

use super::Project;
use crate::support::{binary, of_kind};

const REVIEW: &str = "---\ndescription: Look for mistakes.\n---\nReview $1 for $2.\n";

#[test]
fn a_leading_name_expands() {
    let project = Project::new();
    project.write(".zot/prompts/review.md", REVIEW);
    project.write_home("prompts/review.md", "of the user");
    project.write_home("prompts/sum.md", "Sum up:");
    for (arguments, stdin, expected) in [
        (
            &["/review src/main.rs \"off by one\""][..],
            "",
            "Review src/main.rs for off by one.",
        ),
        (&["/review", "a", "b"], "", "Review a for b."),
        (&["/sum"], "the text\n", "Sum up:\n\nthe text"),
        (&["/sum everything"], "", "Sum up:\n\neverything"),
        (
            &[],
            "/review a b\nand more\n",
            "Review a for b.\n\nand more",
        ),
        (&["/unknown x"], "", "/unknown x"),
        (&["see /review"], "", "see /review"),
    ] {
        let run = project.piped(arguments, stdin);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(
            project.last_request().prompt().trim_end(),
            expected,
            "{arguments:?}"
        );
    }
}

#[test]
fn a_missing_template_is_named_before_the_prompt_is_sent() {
    let project = Project::new();
    project.write(".zot/prompts/review.md", REVIEW);
    let run = project.print(&["/reviw a b"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(0),
            "zot: warning: no template /reviw (available: /review); sent as text\n"
        )
    );
}

#[test]
fn a_broken_template_is_not_sent() {
    let project = Project::new();
    project.write(".zot/prompts/bad.md", "---\nopen: [\n---\nx");
    let run = project.print(&["/bad"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains(".zot/prompts/bad.md: line "),
        "{}",
        run.stderr
    );
    assert!(project.server.requests().is_empty());
}

#[test]
fn the_pipe_lists_and_invokes_templates() {
    let project = Project::new();
    project.write(".zot/prompts/review.md", REVIEW);
    project.write(".zot/prompts/bad.md", "---\nopen");
    let mut zot =
        ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi).spawn();
    let listed = zot.call(json!({"id": "1", "type": "get_commands"}));
    let entry = json!({
        "name": "review", "description": "Look for mistakes.", "extension": "", "source": "template",
    });
    assert_eq!(listed["data"]["commands"], json!([entry]));

    zot.send(json!({"id": "2", "type": "invoke_command", "name": "/review", "args": "a b"}));
    let frames = zot.collect_until(|frame| frame["type"] == "done");
    let invoked = json!({
        "extension": "", "source": "template", "action": "prompt", "prompt": "Review a for b.",
    });
    assert_eq!(frames[0]["data"], invoked);
    assert_eq!(of_kind(&frames, "user_message").len(), 1);
    assert_eq!(project.last_request().prompt(), "Review a for b.");

    let broken = zot.call(json!({"id": "3", "type": "invoke_command", "name": "bad", "args": ""}));
    assert_eq!(broken["data"]["action"], "noop");
    assert!(broken["data"]["error"].as_str().unwrap().contains("bad.md"));
    let unknown = zot.call(json!({"id": "4", "type": "invoke_command", "name": "none"}));
    assert_eq!(unknown["code"], "unknown_command");
}

#[test]
fn a_command_of_an_extension_hides_a_template() {
    let project = Project::new();
    project.write(".zot/prompts/review.md", REVIEW);
    project.write(".zot/prompts/other.md", REVIEW);
    let command = json!({"type": "register_command", "name": "review", "description": "mine"});
    ScriptedExtension::new("probe", [command])
        .install(&project.workdir.zot_home().join("extensions"));
    let mut zot =
        ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi).spawn();
    let listed = zot.call(json!({"id": "1", "type": "get_commands"}));
    let commands = listed["data"]["commands"].as_array().unwrap();
    let shown: Vec<_> = commands
        .iter()
        .map(|command| (command["name"].clone(), command["extension"].clone()))
        .collect();
    assert_eq!(
        shown,
        [
            (json!("review"), json!("probe")),
            (json!("other"), json!(""))
        ]
    );
}

/// Prompts of programs are sent unchanged.
#[test]
fn a_prompt_over_the_pipe_is_not_expanded() {
    let project = Project::new();
    project.write(".zot/prompts/review.md", REVIEW);
    let mut zot =
        ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi).spawn();
    zot.turn("1", "/review a b");
    assert_eq!(project.last_request().prompt(), "/review a b");
}
