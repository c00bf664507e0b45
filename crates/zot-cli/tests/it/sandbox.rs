//! `--sandbox` and its settings in every mode except the chat.

use serde_json::{Value, json};
use testkit::{Finished, Workdir, ZotCommand};

use crate::support::{binary, lacks_namespaces, of_kind};

struct Project {
    workdir: Workdir,
}

impl Project {
    /// A working directory with two files beside it.
    fn new() -> Self {
        let workdir = Workdir::new("work");
        std::fs::write(workdir.parent().join("beside.txt"), "a secret\n").unwrap();
        std::fs::write(workdir.parent().join("shared.txt"), "shared text\n").unwrap();
        Self { workdir }
    }

    fn beside(&self, name: &str) -> String {
        let path = self.workdir.parent().canonicalize().unwrap().join(name);
        path.display().to_string()
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
        let mut command = ZotCommand::new(binary(), &self.workdir).arguments(arguments);
        for (name, value) in variables {
            command = command.env(name, value);
        }
        command.run("")
    }

    /// Returns the result of the tool that the stand-in calls for a prompt.
    fn result(&self, arguments: &[&str], prompt: &str) -> (bool, String) {
        self.result_with(arguments, prompt, &[])
    }

    fn result_with(
        &self,
        arguments: &[&str],
        prompt: &str,
        variables: &[(&str, &str)],
    ) -> (bool, String) {
        let all = [&["--json", "--provider", "offline"], arguments, &[prompt]].concat();
        let finished = self.run(&all, variables);
        let frames: Vec<Value> = finished
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let results = of_kind(&frames, "tool_result");
        let Some(result) = results.first() else {
            panic!("{}\n{}", finished.stdout, finished.stderr);
        };
        (result["is_error"] == false, result.to_string())
    }

    /// Sends these commands to `zot rpc`, and returns the responses.
    fn responses(&self, arguments: &[&str], commands: &[Value]) -> Vec<Value> {
        let all = [&["rpc", "--provider", "offline"], arguments].concat();
        let lines: String = commands.iter().map(|line| format!("{line}\n")).collect();
        let command = ZotCommand::new(binary(), &self.workdir).arguments(&all);
        let finished = command.run(&lines);
        let frames = finished
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        frames.filter(|frame| frame["type"] == "response").collect()
    }

    fn user_settings(&self, settings: &Value) {
        let home = self.workdir.zot_home();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.json"), settings.to_string()).unwrap();
    }

    fn project_settings(&self, settings: &Value) {
        self.workdir.write(".zot/config.json", settings.to_string());
    }
}

const READ_BESIDE: &str = r#"call read {"path": "../beside.txt"}"#;
const WRITE_INSIDE: &str = r#"call write {"path": "made.txt", "content": "made"}"#;

#[test]
fn a_level_is_what_it_says_for_files_and_commands() {
    let project = Project::new();
    let beside = project.beside("beside.txt");
    let (read, write) = (
        format!("run: cat {beside}"),
        "run: echo made > made.txt && cat made.txt".to_owned(),
    );
    let read_system = r#"call read {"path": "/etc/passwd"}"#;
    for (level, reads_outside, writes) in [
        ("off", true, true),
        ("workspace", false, true),
        ("read-only", false, false),
    ] {
        let flags = ["--sandbox", level];
        assert_eq!(
            project.result(&flags, READ_BESIDE).0,
            reads_outside,
            "{level}"
        );
        assert_eq!(project.result(&flags, WRITE_INSIDE).0, writes, "{level}");
        let found = project.result(&flags, &read);
        assert_eq!(
            found.1.contains("a secret"),
            reads_outside,
            "{level} {found:?}"
        );
        let found = project.result(&flags, &write);
        assert_eq!(found.0, writes, "{level} {found:?}");
        // Unlike the jail, it lets the tools read the system.
        assert!(project.result(&flags, read_system).0, "{level}");
    }
    assert!(!project.result(&["--jail"], read_system).0);
    let both = ["--jail", "--sandbox", "workspace"];
    assert!(!project.result(&both, read_system).0);
}

#[test]
fn exact_rules_allow_more() {
    let project = Project::new();
    let shared = project.beside("shared.txt");
    let read = r#"call read {"path": "../shared.txt"}"#;
    let write = r#"call write {"path": "../shared.txt", "content": "changed"}"#;
    let workspace = ["--sandbox", "workspace"];
    assert!(!project.result(&workspace, read).0);
    let reading = [&workspace[..], &["--sandbox-read", &shared]].concat();
    assert!(project.result(&reading, read).0);
    assert!(!project.result(&reading, write).0);
    // Relative to the working directory.
    let writing = [&workspace[..], &["--sandbox-write", "../shared.txt"]].concat();
    let found = project.result(&writing, write);
    assert!(found.0, "{found:?}");
    let found = project.result(&writing, "run: echo again > ../shared.txt");
    assert!(found.0, "{found:?}");

    let print = "run: echo \"[$A_TOKEN_OF_MINE] [$A_SECOND]\"";
    let variables = [("A_TOKEN_OF_MINE", "one"), ("A_SECOND", "two")];
    let found = project.result_with(&workspace, print, &variables).1;
    assert!(found.contains("[] []"), "{found}");
    let passing = [&workspace[..], &["--sandbox-env", "A_SECOND"]].concat();
    let found = project.result_with(&passing, print, &variables).1;
    assert!(found.contains("[] [two]"), "{found}");
    let passing = [&workspace[..], &["--sandbox-env", "A_*"]].concat();
    let found = project.result_with(&passing, print, &variables).1;
    assert!(found.contains("[one] [two]"), "{found}");

    let only = [&workspace[..], &["--sandbox-run", "/usr/bin/env"]].concat();
    let found = project.result(&only, "run: cat /etc/passwd");
    assert!(!found.0, "{found:?}");
}

#[test]
fn wrong_flags_are_named() {
    let project = Project::new();
    for (flags, expected) in [
        (["--sandbox", "strict"], "workspace, read-only"),
        (["--sandbox", ""], "off, workspace, read-only"),
        (["--sandbox-connect", "a b:1"], "a b:1"),
        (["--sandbox-connect", "http://a"], "http://a"),
        (["--sandbox-env", "A=B"], "write NAME or PREFIX_*"),
        (["--sandbox-run", ""], "--sandbox-run"),
        (["--sandbox-write", ""], "--sandbox-write"),
    ] {
        let all = [&["-p", "--provider", "offline"], &flags[..], &["hello"]].concat();
        let finished = project.run(&all, &[]);
        assert_eq!(finished.code, Some(2), "{flags:?}");
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
}

#[test]
fn settings_and_variables_choose_it_and_a_project_only_tightens() {
    let project = Project::new();
    project.user_settings(&json!({"sandbox": "workspace", "sandbox_read": ["../shared.txt"]}));
    assert!(!project.result(&[], READ_BESIDE).0);
    assert!(project.result(&[], WRITE_INSIDE).0);
    let read = r#"call read {"path": "../shared.txt"}"#;
    assert!(project.result(&[], read).0);

    project.project_settings(&json!({"sandbox": "off", "sandbox_read": [".."]}));
    let found = project.result(&[], READ_BESIDE);
    assert!(!found.0, "{found:?}");
    let print = ["-p", "--provider", "offline", "hello"];
    let warned = project.run(&print, &[]).stderr;
    assert!(
        warned.contains("\"sandbox_read\" is ignored, because a project may not set it"),
        "{warned}"
    );

    project.project_settings(&json!({"sandbox": "read-only"}));
    assert!(!project.result(&[], WRITE_INSIDE).0);
    // The user's own words of the moment count for more than any file.
    assert!(project.result(&["--sandbox", "workspace"], WRITE_INSIDE).0);
    let variable = [("ZOT_SANDBOX", "off")];
    assert!(project.result_with(&[], READ_BESIDE, &variable).0);

    project.user_settings(&json!({"sandbox_connect": ["no host"]}));
    let broken = project.run(&print, &[]);
    assert_eq!(broken.code, Some(2));
    assert!(
        broken
            .stderr
            .contains("\"sandbox_connect\" has a wrong entry"),
        "{}",
        broken.stderr
    );
}

#[test]
fn the_network_stays_closed_without_anybody_to_ask() {
    let project = Project::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    let connect = format!("run: bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let arrived = || server.accept().is_ok();
    for flags in [&["--sandbox", "workspace"][..], &["--sandbox", "read-only"]] {
        let found = project.result(flags, &connect);
        assert!(!found.0, "{found:?}");
        assert!(!arrived(), "{flags:?}");
    }
    let print = [
        &["-p", "--provider", "offline", "--sandbox", "workspace"],
        &[connect.as_str()][..],
    ]
    .concat();
    project.run(&print, &[]);
    assert!(!arrived());
    for flags in [
        &["--sandbox", "workspace", "--sandbox-connect", "*"][..],
        &["--jail"],
        &["--sandbox", "off"],
    ] {
        let found = project.result(flags, &connect);
        assert!(found.0 && arrived(), "{flags:?} {found:?}");
    }
    // Together they are the stricter of both.
    let both = ["--jail", "--sandbox", "workspace"];
    assert!(!project.result(&both, &connect).0);
    assert!(!arrived());
}

#[test]
fn the_pipe_reports_and_changes_it() {
    let project = Project::new();
    let state = json!({"type": "get_state"});
    let responses = project.responses(
        &["--sandbox", "workspace", "--sandbox-connect", "a.example:1"],
        &[
            state.clone(),
            json!({"type": "set_sandbox", "level": "read-only", "read": ["../shared.txt"], "open_files": 64}),
            json!({"type": "set_sandbox", "level": "workspace", "connect": ["no host"]}),
            json!({"type": "set_sandbox", "level": "workspace", "environment": ["A=B"]}),
            state.clone(),
            json!({"type": "set_sandbox", "level": "workspace"}),
            json!({"type": "set_sandbox", "level": "off", "connect": []}),
            state.clone(),
        ],
    );
    let without_caveats = |data: &Value| {
        let mut data = data.clone();
        data.as_object_mut().unwrap().remove("caveats");
        data
    };
    let started = without_caveats(&responses[0]["data"]["sandbox"]);
    assert_eq!(
        started,
        json!({"level": "workspace", "connect": ["a.example:1"]})
    );
    let changed = json!({"level": "read-only", "read": ["../shared.txt"], "connect": ["a.example:1"], "open_files": 64});
    assert_eq!(without_caveats(&responses[1]["data"]), changed);
    for (response, field) in [
        (&responses[2], "connect: "),
        (&responses[3], "environment: "),
    ] {
        assert_eq!(response["code"], "invalid_argument");
        let error = response["error"].as_str().unwrap();
        assert!(error.starts_with(field), "{error}");
    }
    assert_eq!(without_caveats(&responses[4]["data"]["sandbox"]), changed);
    // What is left out is as at the start.
    assert_eq!(without_caveats(&responses[5]["data"]), started);
    assert_eq!(responses[6]["data"], json!({"level": "off"}));
    assert_eq!(responses[7]["data"].get("sandbox"), None);

    // A client cannot lift the jail.
    let responses = project.responses(
        &["--jail"],
        &[json!({"type": "set_sandbox", "level": "off"}), state],
    );
    assert_eq!(responses[0]["data"]["level"], "workspace");
    assert_eq!(responses[1]["data"]["jailed"], true);
}

#[test]
fn commands_of_the_pipe_obey_the_latest_sandbox() {
    let project = Project::new();
    let all = ["rpc", "--provider", "offline"];
    let lines = [
        json!({"type": "set_sandbox", "level": "workspace"}),
        json!({"type": "prompt", "message": READ_BESIDE}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let command = ZotCommand::new(binary(), &project.workdir).arguments(all);
    let finished = command.run(&lines);
    assert!(!finished.stdout.contains("a secret"), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("tool_result"),
        "{}",
        finished.stdout
    );
}

#[test]
fn the_sandbox_in_force_is_shown_with_its_sources() {
    let project = Project::new();
    project.user_settings(&json!({
        "sandbox": "workspace", "sandbox_connect": ["a.example:1"], "sandbox_processes": 50
    }));
    let store = json!({"projects": [
        {"directory": project.workdir.path().canonicalize().unwrap(), "connect": ["b.example:2"], "write": ["/srv/out"]},
        {"directory": "/elsewhere", "connect": ["c.example:3"]},
    ]});
    let allowed = project.workdir.zot_home().join("sandbox.json");
    std::fs::write(&allowed, store.to_string()).unwrap();
    let show = |flags: &[&str]| {
        let all = [&["sandbox", "--json"], flags].concat();
        let variables = [("OPENAI_API_KEY", "sk-0123456789"), ("SOMETHING", "else")];
        let finished = project.run(&all, &variables);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert!(!finished.stdout.contains("0123456789"));
        serde_json::from_str::<Value>(&finished.stdout).unwrap()
    };
    let shown = show(&["--sandbox-read", "/srv/in"]);
    assert_eq!(shown["sandbox"]["level"], "workspace");
    let config = project.workdir.zot_home().join("config.json");
    let config = config.to_str().unwrap();
    assert_eq!(shown["source"], config);
    let rules: Vec<[&str; 3]> = shown["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| ["name", "value", "source"].map(|field| rule[field].as_str().unwrap()))
        .collect();
    assert_eq!(
        rules,
        [
            ["read", "/srv/in", "command line"],
            ["connect", "a.example:1", config],
            ["processes", "50", config],
            ["connect", "b.example:2", "allowed for this project"],
            ["write", "/srv/out", "allowed for this project"],
        ]
    );
    assert_eq!(
        shown["sandbox"]["connect"],
        json!(["a.example:1", "b.example:2"])
    );
    let withheld = shown["withheld"].to_string();
    assert!(withheld.contains("OPENAI_API_KEY") && withheld.contains("SOMETHING"));
    assert!(shown["protected"].to_string().contains(".git/hooks"));
    let off = show(&["--sandbox", "off"]);
    assert_eq!(off["source"], "command line");
    assert_eq!(off["withheld"], json!(["OPENAI_API_KEY"]));
    let text = project.run(&["sandbox"], &[]).stdout;
    assert!(text.starts_with("sandbox workspace ("), "{text}");
    assert!(text.contains("b.example:2"), "{text}");

    let forget = |what: &[&str]| project.run(&[&["sandbox", "forget"], what].concat(), &[]);
    let unknown = forget(&["c.example:3"]);
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown.stderr.contains("is not allowed for"),
        "{}",
        unknown.stderr
    );
    assert_eq!(
        forget(&["b.example:2"]).stdout,
        "no longer allowed: connect b.example:2\n"
    );
    assert_eq!(forget(&[]).stdout, "no longer allowed: write /srv/out\n");
    assert_eq!(forget(&[]).stdout, "nothing was allowed for this project\n");
    assert!(
        std::fs::read_to_string(allowed)
            .unwrap()
            .contains("c.example:3")
    );
}

#[test]
fn what_is_allowed_for_a_project_holds_there_and_in_no_level_that_is_off() {
    let project = Project::new();
    let shared = project.beside("shared.txt");
    let directory = project.workdir.path().canonicalize().unwrap();
    let allow = |directory: &std::path::Path| {
        let store = json!({"projects": [{"directory": directory, "read": [shared]}]});
        let home = project.workdir.zot_home();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("sandbox.json"), store.to_string()).unwrap();
    };
    let read = r#"call read {"path": "../shared.txt"}"#;
    let workspace = ["--sandbox", "workspace"];
    assert!(!project.result(&workspace, read).0);
    allow(&directory);
    assert!(project.result(&workspace, read).0);
    allow(&directory.join("elsewhere"));
    assert!(!project.result(&workspace, read).0);
    let store = project.workdir.zot_home().join("sandbox.json");
    std::fs::write(store, "{").unwrap();
    let print = [
        "-p",
        "--provider",
        "offline",
        "--sandbox",
        "workspace",
        read,
    ];
    let finished = project.run(&print, &[]);
    assert!(
        !finished.stdout.contains("shared text"),
        "{}",
        finished.stdout
    );
    assert!(
        finished.stderr.contains("sandbox.json"),
        "{}",
        finished.stderr
    );
}

#[test]
fn refused_hosts_are_on_record_for_the_doctor() {
    if lacks_namespaces() {
        return;
    }
    let project = Project::new();
    let ask = r#"run: p=${http_proxy#http://}; p=${p%/}; bash -c 'exec 3<>/dev/tcp/${0%:*}/${0#*:}; printf "GET http://refused.example/ HTTP/1.1\r\nHost: refused.example\r\n\r\n" >&3; head -1 <&3' $p"#;
    let found = project.result(&["--sandbox", "workspace"], ask);
    assert!(
        found.1.contains("403") || found.1.contains("refused.example"),
        "{found:?}"
    );
    let doctor = project.run(
        &["doctor", "--network", "--json", "--provider", "offline"],
        &[],
    );
    let report: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let contact = &report["contacts"][0];
    assert_eq!(contact["host"], "refused.example", "{report:#}");
    assert_eq!(contact["port"], 80);
    assert_eq!(contact["allowed"], false);
    assert_eq!(contact["times"], 1);
    let names = ["commands", "processes", "files", "hosts", "withheld"];
    for name in names {
        let mut checks = report["checks"].as_array().unwrap().iter();
        assert!(checks.any(|check| check["name"] == name), "{name}");
    }
    let text = project.run(&["doctor", "--network", "--provider", "offline"], &[]);
    assert!(
        text.stdout.contains("refused.example  80    refused  1"),
        "{}",
        text.stdout
    );
    // Not without being asked for.
    let plain = project.run(&["doctor", "--json", "--provider", "offline"], &[]);
    let report: Value = serde_json::from_str(&plain.stdout).unwrap();
    assert_eq!(report["contacts"], json!([]));
}

#[test]
fn a_client_that_answers_is_asked() {
    let project = Project::new();
    let home = project.workdir.home();
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("data.txt"), "of the user\n").unwrap();
    let read = format!("run: cat {}", home.join("data.txt").display());
    let arguments = ["rpc", "--provider", "offline", "--sandbox", "workspace"];
    let start = || {
        ZotCommand::new(binary(), &project.workdir)
            .arguments(arguments)
            .spawn()
    };
    let result = |frames: &[Value]| of_kind(frames, "tool_result")[0].to_string();

    // Nobody has said that they answer.
    let mut silent = start();
    let frames = silent.turn("1", &read);
    assert!(of_kind(&frames, "tool_question").is_empty());
    assert!(!result(&frames).contains("of the user"), "{frames:?}");
    silent.finish();

    let mut zot = start();
    zot.call(json!({"type": "hello", "capabilities": ["questions"]}));
    let mut ask = |id: &str, answer: Option<Value>| {
        zot.send(json!({"type": "prompt", "id": id, "message": read}));
        if let Some(answer) = answer {
            let question = zot.wait_for(|frame| frame["type"] == "tool_question");
            assert_eq!(question["origin"], "sandbox", "{question}");
            let choices = &question["schema"]["properties"]["choice"]["oneOf"];
            let names: Vec<&Value> = choices
                .as_array()
                .unwrap()
                .iter()
                .map(|choice| &choice["const"])
                .collect();
            assert_eq!(names, ["once", "session", "project", "no"]);
            zot.send(json!({"type": "answer", "question_id": question["id"],
                "action": "accept", "content": {"choice": answer}}));
        }
        let frame = zot.wait_for(|frame| frame["type"] == "tool_result");
        zot.wait_for(|frame| frame["type"] == "done");
        frame.to_string().contains("of the user")
    };
    assert!(!ask("1", Some(json!("no"))));
    assert!(ask("2", Some(json!("once"))));
    // It was for that call only.
    assert!(ask("3", Some(json!("session"))));
    assert!(ask("4", None));
    let state = zot.call(json!({"type": "get_state"}));
    let read = state["data"]["sandbox"]["read"].to_string();
    assert!(read.contains("data.txt"), "{state}");
    zot.finish();
    // A session is not a project.
    assert!(!project.workdir.zot_home().join("sandbox.json").exists());
}

#[test]
fn rules_without_effect_are_named() {
    let project = Project::new();
    let warnings = |flags: &[&str]| {
        let all = [&["-p", "--provider", "offline"], flags, &["hello"]].concat();
        let finished = project.run(&all, &[]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stderr
    };
    let off = "have no effect while the sandbox is off: add --sandbox workspace";
    for flag in [
        ["--sandbox-connect", "example.com"],
        ["--sandbox-read", "/usr"],
        ["--sandbox-run", "/bin/ls"],
    ] {
        assert!(warnings(&flag).contains(off), "{flag:?}");
    }
    // These have an effect at every level.
    assert_eq!(warnings(&["--sandbox-env", "OPENAI_API_KEY"]), "");
    assert_eq!(warnings(&["--sandbox-open-files", "64"]), "");

    for flag in ["--sandbox-read", "--sandbox-write", "--sandbox-unix-socket"] {
        let stderr = warnings(&["--sandbox", "workspace", flag, "/nowhere/at/all"]);
        let expected = "/nowhere/at/all does not exist, so the rule that names it has no effect";
        assert!(stderr.contains(expected), "{flag}: {stderr}");
    }
    // Without namespaces, there are warnings about what they would enforce.
    let usual = warnings(&["--sandbox", "workspace"]);
    // What is protected can be allowed before it exists.
    let inside = ["--sandbox", "workspace", "--sandbox-write", ".git"];
    assert_eq!(warnings(&inside), usual);
    let beside = project.beside("shared.txt");
    let existing = ["--sandbox", "workspace", "--sandbox-read", &beside];
    assert_eq!(warnings(&existing), usual);
}

#[test]
fn flags_limit_commands() {
    let project = Project::new();
    let limit = ["--sandbox-open-files", "64"];
    for level in ["off", "workspace"] {
        let flags = [&limit[..], &["--sandbox", level]].concat();
        let (_, output) = project.result(&flags, "run: ulimit -n");
        assert!(output.contains(r"\n\n64\n\n"), "{level}: {output}");
    }
    let shown = project.run(&["sandbox", "--sandbox-memory-mib", "512"], &[]);
    let row: Vec<&str> = shown.stdout.lines().filter(|l| l.contains("512")).collect();
    assert_eq!(row, ["memory_mib  512    command line"], "{}", shown.stdout);
    for (flag, value) in [("--sandbox-open-files", "15"), ("--sandbox-processes", "0")] {
        let wrong = project.run(&["-p", flag, value, "hello"], &[]);
        assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""));
        assert!(wrong.stderr.contains("is not in"), "{}", wrong.stderr);
    }
    let command = json!({"id": "1", "type": "set_sandbox", "level": "off", "open_files": 15});
    let response = &project.responses(&[], &[command])[0];
    assert_eq!(response["code"], "invalid_argument");
    assert_eq!(
        response["error"],
        "open_files: expected 0 (no limit) or at least 16, got 15"
    );
}

#[test]
fn toolchains_caches_and_the_network_are_shown_as_they_are_here() {
    let project = Project::new();
    let home = project.beside("user");
    let rustup = project.beside("rustup");
    std::fs::create_dir_all(format!("{home}/.npm")).unwrap();
    std::fs::create_dir_all(format!("{home}/.cargo/bin")).unwrap();
    std::fs::create_dir_all(&rustup).unwrap();
    let arguments = [
        "sandbox",
        "--sandbox",
        "workspace",
        "--sandbox-connect",
        "a.example",
    ];
    let shown = project.run(&arguments, &[("HOME", &home), ("RUSTUP_HOME", &rustup)]);
    let (network, caches) = match lacks_namespaces() {
        true => (
            "none: without namespaces, what connect allows is refused as well",
            "can only be read",
        ),
        false => ("only what connect allows", "changes last for the session"),
    };
    let line = |name: &str| {
        let mut lines = shown.stdout.lines();
        lines
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    assert_eq!(line("network "), network);
    assert_eq!(line("caches "), format!("{home}/.npm ({caches})"));
    let toolchains = line("toolchains ");
    assert!(
        toolchains.starts_with(&format!("{home}/.cargo/bin")),
        "{toolchains}"
    );
    assert!(toolchains.contains(&rustup), "{toolchains}");
}

#[test]
fn the_least_for_extensions_and_servers_is_shown_apart_from_the_rules() {
    let project = Project::new();
    project.user_settings(&json!({"sandbox_extensions": "workspace"}));
    let shown = project.run(&["sandbox"], &[]).stdout;
    assert!(!shown.contains("RULE"), "{shown}");
    for line in [
        "extensions   at least workspace (setting sandbox_extensions), or what each of them declares",
        "MCP servers  not confined unless they declare it (setting sandbox_mcp)",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
}

#[test]
fn the_doctor_says_that_nothing_was_contacted() {
    let project = Project::new();
    let doctor = |flags: &[&str]| {
        let all = [&["doctor", "--provider", "offline"], flags].concat();
        project.run(&all, &[]).stdout
    };
    let nothing = "Contacted in a sandbox: nothing\n";
    assert!(doctor(&["--network"]).contains(nothing));
    assert!(!doctor(&[]).contains(nothing));
}
