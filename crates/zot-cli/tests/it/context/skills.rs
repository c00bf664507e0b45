//! Skills: which are offered, what the model reads, and what they forbid.

use serde_json::{Value, json};
use testkit::{Wire, Zot, ZotCommand};

use super::Project;
use crate::support::{Session, binary, of_kind};

const BUILT_IN: &str = "write-zot-extension";

fn skill(description: &str, more: &str, body: &str) -> String {
    format!("---\ndescription: {description}\n{more}---\n{body}\n")
}

fn rpc(project: &Project, flags: &[&str]) -> Zot {
    ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi)
        .arguments(flags)
        .spawn()
}

fn results(frames: &[Value]) -> Vec<(bool, String)> {
    of_kind(frames, "tool_result")
        .iter()
        .map(|frame| {
            let text = frame["content"][0]["text"].as_str().unwrap_or_default();
            (frame["is_error"] == true, text.to_owned())
        })
        .collect()
}

fn multi(calls: Value) -> String {
    format!("multi:{calls}")
}

#[test]
fn the_flags_decide_which_skills_are_offered() {
    let project = Project::new();
    project.write(
        ".zot/skills/mine/SKILL.md",
        &skill("Of the project.", "", "x"),
    );
    for (flags, tool, built_in, mine) in [
        (&[][..], true, true, false),
        (&["--with-skills"], true, true, true),
        (&["--no-skill"], false, false, false),
        (&["--with-skills", "--no-skill"], false, false, false),
        (&["--no-tools"], false, false, false),
        (&["--tools", "read", "--with-skills"], false, false, false),
        (&["--tools", "read,skill"], true, true, false),
    ] {
        project.print(&[flags, &["say:1"]].concat());
        let request = project.last_request();
        assert_eq!(request.tool_names().contains(&"skill"), tool, "{flags:?}");
        let system = project.system();
        assert_eq!(
            system.contains(&format!("\n- {BUILT_IN}: ")),
            built_in,
            "{flags:?}"
        );
        assert_eq!(
            system.contains("\n- mine: Of the project."),
            mine,
            "{flags:?}"
        );
    }
}

#[test]
fn the_first_skill_of_a_name_wins_and_broken_ones_are_reported() {
    let project = Project::new();
    project.write(
        ".claude/skills/both/SKILL.md",
        &skill("Of the project.", "", "x"),
    );
    project.write_user(
        ".claude/skills/both/SKILL.md",
        &skill("Of the user.", "", "x"),
    );
    project.write_user(
        ".agents/skills/other/SKILL.md",
        &skill("Of agents.", "", "x"),
    );
    project.write_home("skills/bad/SKILL.md", "---\ndescription: a: b\n---\nx");
    let run = project.print(&["--with-skills", "say:1"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.stderr.contains("skills/bad/SKILL.md: line 2: "),
        "{}",
        run.stderr
    );
    let system = project.system();
    assert!(
        system.contains("\n- both: Of the project.\n- other: Of agents.\n"),
        "{system}"
    );
    assert!(!system.contains("Of the user."));
    assert_eq!(
        project.print(&["say:1"]).stderr,
        "",
        "not asked for, not looked at"
    );
}

#[test]
fn the_model_reads_a_skill_through_its_tool() {
    let project = Project::new();
    project.write(".zot/skills/mine/SKILL.md", &skill("d", "", "Step one."));
    let mut zot = rpc(&project, &["--with-skills"]);
    let frames = zot.turn("1", "tool:skill:{\"name\":\"mine\"}");
    let directory = project.workdir.path().join(".zot/skills/mine");
    let expected = format!(
        "[Relative paths in this skill start at {}]\n\nStep one.\n",
        directory.display()
    );
    assert_eq!(results(&frames), [(false, expected)]);
    let frames = zot.turn("2", "tool:skill:{\"name\":\"yours\"}");
    let expected = format!("unknown skill \"yours\"; available skills: mine, {BUILT_IN}");
    assert_eq!(results(&frames), [(true, expected)]);
}

#[test]
fn the_built_in_skill_teaches_extensions() {
    let mut session = Session::start(Wire::OpenAi);
    let frames = session
        .zot
        .turn("1", &format!("tool:skill:{{\"name\":\"{BUILT_IN}\"}}"));
    let (failed, text) = results(&frames).remove(0);
    assert!(!failed);
    for word in [
        "extension.json",
        "register_tool",
        "zot ext test",
        "permissions",
    ] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn allowed_tools_apply_from_the_next_call_to_the_end_of_the_prompt() {
    let project = Project::new();
    let restricted = skill("d", "allowed-tools: Read\n", "Only look.");
    project.write(".zot/skills/look/SKILL.md", &restricted);
    let mut zot = rpc(&project, &["--with-skills"]);
    let write = |path: &str| json!({"name": "write", "args": {"path": path, "content": "x"}});
    let calls = json!([
        write("before"),
        {"name": "skill", "args": {"name": "look"}},
        write("after"),
        {"name": "read", "args": {"path": "a.txt"}},
    ]);
    let results = results(&zot.turn("1", &multi(calls)));
    assert_eq!(
        results
            .iter()
            .map(|(failed, _)| *failed)
            .collect::<Vec<_>>(),
        [false, false, true, false]
    );
    assert!(
        results[1]
            .1
            .contains("only these tools may be used: read, skill]")
    );
    assert!(
        results[2]
            .1
            .contains("the skill \"look\" does not allow the tool \"write\"")
    );
    assert!(project.workdir.read("before").is_some());
    assert_eq!(project.workdir.read("after"), None);

    let frames = zot.turn("2", "tool:write:{\"path\":\"later\",\"content\":\"x\"}");
    assert_eq!(of_kind(&frames, "tool_result")[0]["is_error"], false);
}

/// The restriction lasts for all model calls of a prompt.
#[test]
fn allowed_tools_apply_over_several_turns() {
    let project = Project::new();
    let restricted = skill("d", "allowed-tools: [read]\n", "Only look.");
    project.write(".zot/skills/look/SKILL.md", &restricted);
    let script = [
        "tool:skill:{\"name\":\"look\"}",
        "tool:bash:{\"command\":\"touch ran\"}",
        "say:1",
    ];
    let project = Project {
        server: testkit::ModelServer::with_script(script.map(testkit::Reply::directive)),
        ..project
    };
    let mut zot = rpc(&project, &["--with-skills"]);
    let results = results(&zot.turn("1", "go"));
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(
        results[1].0 && results[1].1.contains("refused"),
        "{results:?}"
    );
    assert_eq!(project.workdir.read("ran"), None);
}

/// The example in the skill has to work unchanged.
#[test]
fn the_example_of_the_built_in_skill_is_a_good_extension() {
    let project = Project::new();
    let shown = project.zot(&["skills", "show", "--json", BUILT_IN]);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let body = shown["body"].as_str().unwrap();
    let block = |language: &str| {
        let (_, from) = body.split_once(&format!("```{language}\n")).unwrap();
        from.split_once("```").unwrap().0
    };
    project.write("hello/extension.json", block("json"));
    project.write("hello/main.py", block("python"));
    let test = project.zot(&["ext", "test", "hello"]);
    assert_eq!(test.code, Some(0), "{}{}", test.stdout, test.stderr);
    assert!(
        test.stdout.contains(" 0 warnings, 0 failures"),
        "{}",
        test.stdout
    );
}
