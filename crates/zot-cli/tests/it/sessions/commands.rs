//! `zot sessions`.

use std::fs;

use serde_json::Value;

use super::{Project, records};

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

/// Three prompts in one session; returns its id.
fn talk(project: &Project) -> String {
    project.prompt(&["say:1 first question"]);
    project.prompt(&[
        "--continue",
        "tool:bash:{\"command\":\"echo needle in the output\"}",
    ]);
    project.prompt(&["--continue", "say:2 third <question>"]);
    id(&project.sessions_json(&["list"])[0])
}

#[test]
fn the_list_is_a_table_or_json_and_newest_first() {
    let project = Project::new();
    let empty = project.sessions(&[]);
    assert!(
        empty.stdout.starts_with("there are no sessions in "),
        "{}",
        empty.stdout
    );
    assert_eq!(project.sessions_json(&["list"]), serde_json::json!([]));
    let id = talk(&project);
    fs::create_dir(project.workdir.path().join("other")).unwrap();
    project.prompt(&["--cwd", "other", "say:1 elsewhere"]);
    let table = project.sessions(&[]).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(lines[1].starts_with(&id[..8]), "{table}");
    let column = |name: &str| lines[0].find(name).unwrap();
    assert!(lines[1][column("TITLE")..].starts_with("say:1 first question"));
    let all = project.sessions_json(&["list", "--all"]);
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(all[0]["title"], "say:1 elsewhere");
    assert_eq!(all[1]["prompts"], 3);
    assert_eq!(all[1]["id"], id);
    assert!(all[1]["output_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn show_numbers_the_prompts_and_reports_damage() {
    let project = Project::new();
    let id = talk(&project);
    let shown = project.sessions(&["show", &id[..8]]).stdout;
    for part in [
        "[1] user\n  say:1 first question",
        "  > bash {\"command\":\"echo needle in the output\"}",
        "  < $ echo needle in the output\n\n    needle in the output\n",
        "[3] user\n  say:2 third <question>",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let summary = project.sessions(&["show", "--summary", &id]).stdout;
    assert!(summary.contains(", including 3 prompts"), "{summary}");
    assert!(shown.starts_with(summary.split("messages  ").next().unwrap()));
    assert!(!summary.contains("] user"), "{summary}");
    let value = project.sessions_json(&["show", &id]);
    assert_eq!(value["messages"].as_array().unwrap().len(), 8);
    assert_eq!(value["findings"], serde_json::json!([]));

    let file = project.only_file();
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str("garbage\n");
    fs::write(&file, text).unwrap();
    let shown = project.sessions(&["show", &id]).stdout;
    assert!(shown.contains("\nnote       line "), "{shown}");
    let table = project.sessions(&["list"]).stdout;
    assert!(table.contains("(damaged)"), "{table}");
}

#[test]
fn search_finds_words_of_messages_and_tools() {
    let project = Project::new();
    let id = talk(&project);
    let found = project.sessions_json(&["search", "NEEDLE", "output"]);
    let roles: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(found[0]["id"], id);
    let text = project
        .sessions(&["search", "needle", "--limit", "1"])
        .stdout;
    assert!(text.contains("2 more messages"), "{text}");
    let nothing = project
        .zot()
        .arguments(["sessions", "search", "haystack"])
        .run("");
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(1), ""));
}

#[test]
fn a_fork_is_independent_and_shown_below_its_parent() {
    let project = Project::new();
    let parent = talk(&project);
    let original = fs::read(project.only_file()).unwrap();
    let forked = project.sessions_json(&["fork", &parent[..8], "--at", "2"]);
    assert_eq!(forked["parent"], parent);
    assert_eq!(forked["fork_point"], 2);
    let fork = id(&forked);
    project.prompt(&["--resume", &fork[..8], "say:3 another way"]);
    assert_eq!(project.messages_sent(), 3);
    let tree = project.sessions(&["tree"]).stdout;
    let lines: Vec<&str> = tree.lines().collect();
    assert!(lines[0].starts_with(&parent[..8]), "{tree}");
    assert!(
        lines[1].starts_with(&format!("└─ {}", &fork[..8])),
        "{tree}"
    );
    assert!(lines[1].contains("after message 2"), "{tree}");
    assert_eq!(
        project.sessions_json(&["tree"])[0]["children"][0]["id"],
        fork
    );
    let parents = project
        .files()
        .into_iter()
        .find(|f| fs::read(f).unwrap() == original);
    assert!(parents.is_some(), "the parent is as it was");

    let wrong = project
        .zot()
        .arguments(["sessions", "fork", &parent, "--at", "9"]);
    let wrong = wrong.run("");
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stderr.contains("the session has 3 prompts"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_session_is_exported_and_imported_elsewhere() {
    let project = Project::new();
    project.prompt(&["tool:bash:{\"command\":\"pwd\"}"]);
    let id = id(&project.sessions_json(&["list"])[0]);
    let ended = project.sessions(&["export", &id, "-o", "talk.zotsession"]);
    assert!(
        ended.stderr.contains("1 messages name it"),
        "{}",
        ended.stderr
    );
    let exported = project.workdir.path().join("talk.zotsession");
    let sent = records(&exported);
    assert_eq!(sent[0]["meta"].get("cwd"), None);
    assert_eq!(sent[0]["meta"]["id"], id);

    let refused = project
        .zot()
        .arguments(["sessions", "export", &id, "-o", "talk.zotsession"]);
    assert_eq!(
        refused.run("").code,
        Some(1),
        "not over a file that is there"
    );

    let imported = project.sessions_json(&["import", "talk.zotsession"]);
    assert_ne!(imported["id"], id);
    project.prompt(&["--resume", imported["id"].as_str().unwrap(), "say:1"]);
    assert_eq!(project.messages_sent(), 5);
}

#[test]
fn exported_pages_are_complete_and_escape_markup() {
    let project = Project::new();
    let id = talk(&project);
    project.sessions(&["export", &id, "-o", "talk.html"]);
    let page = project.workdir.read("talk.html").unwrap();
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("third &lt;question&gt;") && !page.contains("<question>"));
    assert!(page.contains("<svg class=\"chart\""));
    let markdown = project.sessions(&["export", &id, "--format", "md"]).stdout;
    assert!(markdown.contains("<details><summary>bash echo needle in the output</summary>"));
}

/// The model's Markdown is rendered, but cannot add markup of its own to the page.
#[test]
fn exported_pages_render_markdown() {
    let project = Project::new();
    project.prompt(&["say:1"]);
    let file = project.only_file();
    let answer = "# Plan\n\n- **one** `x < y`\n\n```sh\nls <dir>\n```\n\n| a |\n|---|\n| b |\n\n\
                [good](https://example.org) [bad](javascript:alert(1)) <script>alert(1)</script> \
                ![i](https://example.org/i.png)";
    let answer = serde_json::to_string(answer).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"text\":\"alpha \""), "{text}");
    let text = text.replace("\"text\":\"alpha \"", &format!("\"text\":{answer}"));
    std::fs::write(&file, text).unwrap();
    let id = id(&project.sessions_json(&["list"])[0]);
    project.sessions(&["export", &id, "-o", "plan.html"]);
    let page = project.workdir.read("plan.html").unwrap();
    for part in [
        "<h1>Plan</h1>",
        "<li><strong>one</strong> <code>x &lt; y</code></li>",
        "<code class=\"language-sh\">ls &lt;dir&gt;\n</code></pre>",
        "<td>b</td>",
        "<a href=\"https://example.org\"",
        "&lt;script&gt;",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    for part in ["<script", "javascript:", "<img"] {
        assert!(!page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn delete_and_stats() {
    let project = Project::new();
    let id = talk(&project);
    project.prompt(&["say:1"]);
    let stats = project.sessions_json(&["stats"]);
    assert_eq!(stats["sessions"], 2);
    assert_eq!(stats["prompts"], 4);
    assert_eq!(stats["models"].as_object().unwrap().len(), 1);
    let table = project.sessions(&["stats"]).stdout;
    assert_eq!(table.lines().count(), 3, "{table}");

    let wrong = project
        .zot()
        .arguments(["sessions", "delete", &id, "nothing"])
        .run("");
    assert_eq!(wrong.code, Some(1));
    assert_eq!(project.files().len(), 2, "all or none");
    project.sessions(&["delete", &id[..8]]);
    assert_eq!(project.files().len(), 1);
}

#[test]
fn the_first_word_is_a_command_and_help_names_all() {
    let project = Project::new();
    let help = project.sessions(&["--help"]).stdout;
    for command in [
        "list", "show", "search", "export", "import", "fork", "tree", "undo", "delete", "stats",
    ] {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command}\n{help}"
        );
    }
    let wrong = project.zot().arguments(["sessions", "lits"]).run("");
    assert_eq!(wrong.code, Some(2));
}
