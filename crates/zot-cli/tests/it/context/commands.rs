//! `zot context` and `zot skills`.

use std::fs;

use serde_json::{Value, json};
use testkit::{ScriptedExtension, echo_tool};

use super::Project;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn context_shows_every_part_and_its_cost() {
    let project = Project::new();
    project.write("AGENTS.md", "Use tabs.\n");
    let run = project.zot(&["context", "--append-system-prompt", "APP!"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let path = project.workdir.path().join("AGENTS.md");
    let parts: Vec<&str> = run
        .stdout
        .lines()
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    assert_eq!(
        &parts[..parts.len() - 1],
        [
            "PART",
            "system prompt",
            "skills",
            "instructions",
            "appended",
            "environment",
            "tool read",
            "tool write",
            "tool edit",
            "tool bash",
            "tool skill",
            "total",
        ]
    );
    assert!(
        run.stdout.contains(path.to_str().unwrap()),
        "{}",
        run.stdout
    );
}

#[test]
fn context_for_programs_adds_up() {
    let project = Project::new();
    project.write("AGENTS.md", "Use tabs.\n");
    project.write("CLAUDE.md/not-a-file", "");
    project.write_home("SYSTEM.md", "1234");
    let run = project.zot(&["context", "--json", "--no-skill", "--tools", "read"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let report = parsed(&run.stdout);
    let parts = report["parts"].as_array().unwrap();
    let kinds: Vec<&Value> = parts.iter().map(|part| &part["kind"]).collect();
    assert_eq!(
        kinds,
        ["system_prompt", "instructions", "environment", "tool"]
    );
    assert_eq!(parts[0]["tokens"], 1);
    assert_eq!(
        parts[0]["path"],
        json!(project.workdir.zot_home().join("SYSTEM.md"))
    );
    let sum: u64 = parts
        .iter()
        .map(|part| part["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(report["tokens"], sum);
    assert!(
        report["warnings"][0]
            .as_str()
            .unwrap()
            .contains("CLAUDE.md: is a directory, expected a regular file")
    );

    project.print(&["--no-skill", "--tools", "read", "say:1"]);
    let bytes: u64 = parts[..3]
        .iter()
        .map(|part| part["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(
        project.system().len() as u64,
        bytes + 4,
        "parts are separated by an empty line"
    );
}

#[test]
fn context_counts_the_tools_of_extensions() {
    let project = Project::new();
    ScriptedExtension::new("probe", [echo_tool("shout")])
        .install(&project.workdir.zot_home().join("extensions"));
    let report = parsed(&project.zot(&["context", "--json"]).stdout);
    let parts = report["parts"].as_array().unwrap();
    let last = parts.last().unwrap();
    assert_eq!(last["name"], "shout");
    assert_eq!(last["extension"], "probe");
}

#[test]
fn context_takes_no_prompt() {
    let project = Project::new();
    for arguments in [&["context", "hello"][..], &["context", "-p"]] {
        assert_eq!(project.zot(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn a_new_skill_can_be_listed_and_shown() {
    let project = Project::new();
    let made = project.zot(&["skills", "new", "deploy", "--description", "Ship: \"it\"."]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let again = project.zot(&["skills", "new", "deploy"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("exists already"));
    assert_eq!(project.zot(&["skills", "new", "../x"]).code, Some(1));

    let list = project.zot(&["skills", "list"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = list.stdout.lines().collect();
    assert!(lines[0].starts_with("NAME"));
    assert!(lines[1].starts_with("deploy ") && lines[1].contains("--with-skills"));
    assert!(lines[2].starts_with("write-zot-extension ") && lines[2].contains("always"));

    let shown = project.zot(&["skills", "show", "deploy"]);
    assert!(
        shown.stdout.starts_with("deploy: Ship: \"it\".\nfrom: "),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("# deploy"));
    let shown = parsed(&project.zot(&["skills", "show", "--json", "deploy"]).stdout);
    assert_eq!(shown["description"], "Ship: \"it\".");
    assert_eq!(shown["allowed_tools"], Value::Null);
    assert!(shown["body"].as_str().unwrap().starts_with("# deploy"));

    let global = project.zot(&["skills", "new", "mine", "--global", "--json"]);
    assert_eq!(global.code, Some(0));
    let path = project.workdir.zot_home().join("skills/mine/SKILL.md");
    assert_eq!(
        parsed(&global.stdout),
        json!({"name": "mine", "path": path})
    );
    assert!(
        project
            .workdir
            .zot_home()
            .join("skills/mine/SKILL.md")
            .exists()
    );
}

#[test]
fn the_list_names_what_is_hidden_and_what_is_broken() {
    let project = Project::new();
    let skill =
        "---\ndescription: d\nallowed-tools: Bash(git:*), Read\npermissions: [network]\n---\nx\n";
    project.write(".zot/skills/one/SKILL.md", skill);
    project.write_user(".claude/skills/one/SKILL.md", skill);
    project.write(".agents/skills/bad/SKILL.md", "no front matter");
    let report = parsed(&project.zot(&["skills", "list", "--json"]).stdout);
    let skills = report["skills"].as_array().unwrap();
    assert_eq!(skills[0]["hidden_by"], Value::Null);
    assert_eq!(skills[0]["allowed_tools"], json!(["bash", "read"]));
    assert_eq!(skills[0]["unenforced_patterns"], json!(["Bash(git:*)"]));
    assert_eq!(skills[0]["permissions"], json!(["network"]));
    assert_eq!(skills[1]["hidden_by"], "./.zot/skills");
    let path = project.workdir.path().join(".agents/skills/bad/SKILL.md");
    assert_eq!(report["problems"][0]["path"], json!(path));
    let list = project.zot(&["skills", "list"]);
    assert_eq!(list.code, Some(0));
    assert!(
        list.stderr.contains("it needs a description"),
        "{}",
        list.stderr
    );

    let bad = project.zot(&["skills", "show", "bad"]);
    assert_eq!(bad.code, Some(1));
    assert!(bad.stderr.contains("it needs a description"));
    let unknown = project.zot(&["skills", "show", "none"]);
    assert!(unknown.stderr.contains("known: one, write-zot-extension"));
    assert_eq!(project.zot(&["skills"]).stdout, list.stdout);
    assert_eq!(project.zot(&["skills", "lst"]).code, Some(2));
}

#[test]
fn the_text_of_a_skill_is_filtered() {
    let project = Project::new();
    let skill = "---\ndescription: \"a\\e[31mb\"\n---\n\u{1b}[2Jx\n";
    project.write(".zot/skills/evil/SKILL.md", skill);
    for arguments in [&["skills", "list"][..], &["skills", "show", "evil"]] {
        let command = project.command(arguments).into_command();
        let run = testkit::run_at_terminal(command);
        assert_eq!(run.code, Some(0));
        testkit::assert_harmless("skills", &run.output);
    }
    fs::remove_dir_all(project.workdir.path().join(".zot")).unwrap();
}
