//! `config.json`, `zot config`, and their precedence.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

struct Setup {
    workdir: Workdir,
}

impl Setup {
    fn new(user: &str, project: &str) -> Self {
        let workdir = Workdir::new("work");
        fs::create_dir_all(workdir.zot_home()).unwrap();
        if !user.is_empty() {
            fs::write(workdir.zot_home().join("config.json"), user).unwrap();
        }
        if !project.is_empty() {
            workdir.write(".zot/config.json", project);
        }
        Self { workdir }
    }

    fn command(&self, arguments: &[&str]) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir).arguments(arguments)
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.command(arguments).run("")
    }

    fn settings(&self) -> Value {
        let listed = self.run(&["config", "list", "--json"]);
        serde_json::from_str(&listed.stdout).unwrap()
    }
}

fn entry<'a>(listed: &'a Value, key: &str) -> &'a Value {
    let mut settings = listed["settings"].as_array().unwrap().iter();
    settings.find(|setting| setting["key"] == key).unwrap()
}

#[test]
fn the_columns_of_the_list_line_up() {
    let listed = Setup::new("", "").run(&["config", "list"]).stdout;
    let columns: BTreeSet<_> = listed.lines().map(|line| line.rfind("default")).collect();
    let values: BTreeSet<_> = listed.lines().map(|line| line.find('(')).collect();
    assert!(listed.contains("sandbox_processor_seconds"), "{listed}");
    assert_eq!((columns.len(), values.len()), (1, 1), "{listed}");
}

#[test]
fn settings_are_set_shown_and_unset() {
    let setup = Setup::new("", "");
    let path = setup.workdir.zot_home().join("config.json");
    assert_eq!(
        setup.run(&["config", "path"]).stdout,
        format!("{}\n", path.display())
    );
    assert_eq!(setup.run(&["config", "get", "model"]).code, Some(1));
    let set = setup.run(&["config", "set", "model", "gpt-5"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(setup.run(&["config", "get", "model"]).stdout, "gpt-5\n");
    setup.run(&["config", "set", "--project", "max_steps", "3"]);
    assert_eq!(
        setup.workdir.read(".zot/config.json").unwrap(),
        "{\n  \"max_steps\": 3\n}\n"
    );
    let listed = setup.settings();
    assert_eq!(entry(&listed, "model")["source"], json!(path));
    assert_eq!(entry(&listed, "max_steps")["value"], 3);
    assert_eq!(
        entry(&listed, "tools"),
        &json!({"key": "tools", "value": null, "source": "default"})
    );
    assert_eq!(setup.run(&["config", "unset", "model"]).code, Some(0));
    assert_eq!(setup.run(&["config", "get", "model"]).code, Some(1));

    for wrong in [
        &["config", "set", "modle", "x"][..],
        &["config", "set", "max_steps", "none"],
        &["config", "set", "--project", "extension_paths", "./x"],
        &["config", "get", "api_key"],
    ] {
        let run = setup.run(wrong);
        assert_eq!(run.code, Some(2), "{wrong:?}");
        assert!(run.stderr.starts_with("zot: "), "{}", run.stderr);
    }
}

/// The environment wins over the project, the project over the user, a flag over all.
#[test]
fn the_most_specific_setting_wins() {
    let setup = Setup::new(
        r#"{"provider": "offline", "model": "nonsense"}"#,
        r#"{"provider": "offline", "model": "offline"}"#,
    );
    let state = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = setup.command(arguments);
        for (name, value) in variables {
            command = command.env(name, value);
        }
        let ended = command.run("{\"id\":\"1\",\"type\":\"get_state\"}\n");
        let line = ended.stdout.lines().next().unwrap_or("{}").to_owned();
        let frame: Value = serde_json::from_str(&line).unwrap();
        (
            ended.code,
            frame["data"]["provider"].clone(),
            frame["data"]["model"].clone(),
        )
    };
    assert_eq!(
        state(&["rpc"], &[]),
        (Some(0), json!("offline"), json!("offline"))
    );
    // A variable names a model that the project's provider does not have.
    assert_eq!(state(&["rpc"], &[("ZOT_MODEL", "bogus")]).0, Some(2));
    let key = [
        ("OPENAI_API_KEY", "sk-none-none"),
        ("ZOT_PROVIDER", "openai"),
    ];
    assert_eq!(
        state(&["rpc"], &key),
        (Some(0), json!("openai"), json!("gpt-6.1-sol"))
    );
    // A model on the command line selects its provider.
    let asked = state(&["rpc", "--model", "gpt-4o"], &key[..1]);
    assert_eq!(asked, (Some(0), json!("openai"), json!("gpt-4o")));
    let asked = state(&["rpc", "--provider", "openai"], &key[..1]);
    assert_eq!(asked, (Some(0), json!("openai"), json!("gpt-6.1-sol")));
}

#[test]
fn a_broken_file_stops_everything_and_is_named() {
    for (user, project, expected) in [
        ("{\n  \"model\": \n}", "", "config.json, line 3, column 1"),
        (
            "",
            "{\n\"max_steps\": \"many\"}",
            ".zot/config.json, line 2: \"max_steps\" must be",
        ),
    ] {
        let setup = Setup::new(user, project);
        for arguments in [
            &["-p", "--provider", "offline", "hi"][..],
            &["rpc"],
            &["config", "list"],
        ] {
            let run = setup.run(arguments);
            assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
            assert!(run.stderr.contains(expected), "{}", run.stderr);
        }
    }
}

#[test]
fn limits_and_tools_from_files_apply() {
    let setup = Setup::new(
        r#"{"tools": ["read"], "max_steps": 2}"#,
        r#"{"tools": ["read", "bash"]}"#,
    );
    let server = ModelServer::start();
    let run = setup
        .command(&["--json", "--no-session", "loop:5:read:{\"path\":\"x\"}"])
        .model(&server, Wire::OpenAi)
        .run("");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("max steps (2)"), "{}", run.stderr);
    assert_eq!(server.requests()[0].tool_names(), ["read"]);
}

/// Cloning a repository must be harmless.
#[test]
fn a_project_cannot_start_programs_and_causes_a_warning() {
    let setup = Setup::new(
        "",
        r#"{"extension_paths": ["./evil"], "session": false, "modle": "x"}"#,
    );
    setup.workdir.write(
        "evil/extension.json",
        r#"{"name": "evil", "command": "./run"}"#,
    );
    let run = setup.run(&["-p", "--provider", "offline", "hello"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for expected in [
        "\"extension_paths\" is ignored",
        "\"session\" is ignored",
        "did you mean model?",
    ] {
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    assert!(setup.workdir.zot_home().join("sessions").exists());
}

#[test]
fn every_setting_is_in_the_document() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let document = fs::read_to_string(document).unwrap();
    let listed = Setup::new("", "").settings();
    for setting in listed["settings"].as_array().unwrap() {
        let row = format!("\n| `{}` |", setting["key"].as_str().unwrap());
        assert!(document.contains(&row), "no row for {setting}");
    }
}
