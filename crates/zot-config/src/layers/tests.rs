use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use zot_conversation::ReasoningEffort;

use super::{Layers, Origin};
use crate::{ConfigError, Dialect, KEYS, SandboxLevel, Settings, WireName};

struct Directories {
    _directory: TempDir,
    home: PathBuf,
    cwd: PathBuf,
}

impl Directories {
    fn new(user: &str, project: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (home, cwd) = (directory.path().join("home"), directory.path().join("work"));
        for (path, text) in [
            (home.join("config.json"), user),
            (cwd.join(".zot/config.json"), project),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if !text.is_empty() {
                fs::write(path, text).unwrap();
            }
        }
        Self {
            _directory: directory,
            home,
            cwd,
        }
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<Layers, ConfigError> {
        Layers::load(&self.home, &self.cwd, &|name| {
            let mut variables = variables.iter();
            variables
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }
}

fn origin(layers: &Layers, name: &str) -> Origin {
    let list = layers.list();
    let found = list.iter().find(|setting| setting.key.name == name);
    found.unwrap().origin.clone()
}

#[test]
fn variables_override_the_project_which_overrides_the_user() {
    let directories = Directories::new(
        r#"{"reasoning": "low", "tool_dialect": "hermes", "max_steps": 10}"#,
        r#"{"reasoning": "medium", "tool_dialect": "native", "max_steps": 20}"#,
    );
    let layers = directories
        .load(&[("ZOT_REASONING", "high"), ("ZOT_MODEL", "")])
        .unwrap();
    assert_eq!(
        layers.settings(),
        Settings {
            reasoning: Some(ReasoningEffort::High),
            tool_dialect: Some(Dialect::Native),
            max_steps: Some(10),
            ..Settings::default()
        }
    );
    assert_eq!(
        origin(&layers, "reasoning"),
        Origin::Variable("ZOT_REASONING".to_owned())
    );
    let project = directories.cwd.join(".zot/config.json");
    assert_eq!(origin(&layers, "tool_dialect"), Origin::Project(project));
    assert_eq!(origin(&layers, "model"), Origin::Default);
    assert_eq!(layers.warnings(), &[] as &[String]);
}

#[test]
fn another_provider_means_another_model() {
    let user = r#"{"provider": "openai", "model": "gpt-5"}"#;
    let pair = |project: &str| {
        let settings = Directories::new(user, project)
            .load(&[])
            .unwrap()
            .settings();
        (settings.provider, settings.model)
    };
    let texts =
        |provider: &str, model: Option<&str>| (Some(provider.to_owned()), model.map(str::to_owned));
    assert_eq!(
        pair(r#"{"provider": "anthropic"}"#),
        texts("anthropic", None)
    );
    assert_eq!(
        pair(r#"{"provider": "openai"}"#),
        texts("openai", Some("gpt-5"))
    );
    assert_eq!(
        pair(r#"{"model": "gpt-4o"}"#),
        texts("openai", Some("gpt-4o"))
    );
    let other = r#"{"provider": "groq", "model": "x"}"#;
    assert_eq!(pair(other), texts("groq", Some("x")));
}

#[test]
fn a_project_cannot_set_dangerous_keys() {
    let directories = Directories::new(
        r#"{"extensions": false, "tools": ["read"]}"#,
        r#"{"extensions": true, "extension_paths": ["./evil"], "session": false, "live_models": true,
            "tools": ["read", "bash"], "api_key": "x", "base_url": "http://evil"}"#,
    );
    let layers = directories.load(&[]).unwrap();
    assert_eq!(
        layers.settings(),
        Settings {
            extensions: Some(false),
            tools: Some(vec!["read".to_owned()]),
            ..Settings::default()
        }
    );
    assert_eq!(layers.warnings().len(), 4, "{:?}", layers.warnings());
    assert_eq!(layers.unknown().len(), 2, "{:?}", layers.unknown());
}

#[test]
fn a_project_can_close_the_jail_and_not_open_it() {
    for (user, project, expected) in [
        (r#"{"jail": true}"#, r#"{"jail": false}"#, true),
        (r#"{"jail": false}"#, r#"{"jail": true}"#, true),
        ("", r#"{"jail": true}"#, true),
        (r#"{"jail": false}"#, r#"{"jail": false}"#, false),
    ] {
        let directories = Directories::new(user, project);
        let settings = directories.load(&[]).unwrap().settings();
        assert_eq!(settings.jail, Some(expected), "{user} {project}");
        let settings = directories
            .load(&[("ZOT_JAIL", "false")])
            .unwrap()
            .settings();
        assert_eq!(settings.jail, Some(false), "the user's variable wins");
    }
}

#[test]
fn errors_name_file_and_line() {
    for (user, expected) in [
        (
            "{\n\n \"max_steps\": \"x\"}",
            "config.json, line 3: \"max_steps\" must be a whole number",
        ),
        (
            "{\n \"model\": ,}",
            "config.json, line 2, column 11: expected value",
        ),
        ("[]", "config.json, line 1, column 0: invalid type"),
        (
            "{} {}",
            "config.json, line 1, column 4: trailing characters",
        ),
    ] {
        let error = Directories::new(user, "")
            .load(&[])
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{user:?}: {error}");
    }
    let error = Directories::new("", "")
        .load(&[("ZOT_MAX_STEPS", "no")])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "$ZOT_MAX_STEPS must be a whole number of at least 1"
    );
}

#[test]
fn a_misspelt_key_is_a_warning_and_a_foreign_one_is_listed() {
    let layers = Directories::new(
        "{\"$schema\": \"x\", \"modle\": \"a\",\n\"colours\": \"dark\"}",
        "",
    )
    .load(&[])
    .unwrap();
    let [warning] = layers.warnings() else {
        panic!("{:?}", layers.warnings());
    };
    assert!(
        warning.ends_with("line 1: unknown setting \"modle\"; did you mean model?"),
        "{warning}"
    );
    let [unknown] = layers.unknown() else {
        panic!("{:?}", layers.unknown());
    };
    assert!(
        unknown.ends_with("line 2: unknown setting \"colours\""),
        "{unknown}"
    );
}

#[test]
fn every_kind_of_value_reaches_the_settings() {
    let values = json!({
        "provider": "p", "model": "m", "fallback": ["a/b"], "reasoning": "minimal",
        "wire": "openai-responses",
        "max_steps": 1, "max_process_steps": 2, "max_cost_usd": 1, "max_tokens": 3,
        "timeout_ms": 4, "tools": [], "tool_dialect": "hermes", "jail": true, "extensions": true,
        "sandbox": "read-only", "sandbox_read": ["~/r"], "sandbox_write": ["w"],
        "sandbox_run": ["/bin/ls"], "sandbox_connect": ["example.com:443", "*.example.org"],
        "sandbox_unix_sockets": ["/s"], "sandbox_environment": ["A", "B_*"],
        "sandbox_memory_mib": 5, "sandbox_processes": 6, "sandbox_processor_seconds": 7,
        "sandbox_open_files": 80, "sandbox_extensions": "workspace", "sandbox_mcp": "read-only",
        "extension_paths": ["x"], "session": false, "durable": true, "live_models": false,
        "theme": "light", "keep_scrollback": true, "inline_images_enabled": false
    });
    assert_eq!(values.as_object().unwrap().len(), KEYS.len());
    let directories = Directories::new(&values.to_string(), "");
    let settings = directories.load(&[]).unwrap().settings();
    assert_eq!(
        settings,
        Settings {
            provider: Some("p".to_owned()),
            model: Some("m".to_owned()),
            fallback: Some(vec!["a/b".to_owned()]),
            wire: Some(WireName::OpenAiResponses),
            reasoning: Some(ReasoningEffort::Minimal),
            max_steps: Some(1),
            max_process_steps: Some(2),
            max_cost_usd: Some(1.0),
            max_tokens: Some(3),
            timeout_ms: Some(4),
            tools: Some(Vec::new()),
            tool_dialect: Some(Dialect::Hermes),
            jail: Some(true),
            sandbox: Some(SandboxLevel::ReadOnly),
            sandbox_read: Some(vec![PathBuf::from("~/r")]),
            sandbox_write: Some(vec![PathBuf::from("w")]),
            sandbox_run: Some(vec![PathBuf::from("/bin/ls")]),
            sandbox_connect: Some(vec![
                "example.com:443".to_owned(),
                "*.example.org".to_owned()
            ]),
            sandbox_unix_sockets: Some(vec![PathBuf::from("/s")]),
            sandbox_environment: Some(vec!["A".to_owned(), "B_*".to_owned()]),
            sandbox_memory_mib: Some(5),
            sandbox_processes: Some(6),
            sandbox_processor_seconds: Some(7),
            sandbox_open_files: Some(80),
            sandbox_extensions: Some(SandboxLevel::Workspace),
            sandbox_mcp: Some(SandboxLevel::ReadOnly),
            extensions: Some(true),
            extension_paths: Some(vec![directories.home.join("x")]),
            session: Some(false),
            durable: Some(true),
            live_models: Some(false),
            theme: Some("light".to_owned()),
            keep_scrollback: Some(true),
            inline_images_enabled: Some(false),
        }
    );
}

#[test]
fn a_project_can_only_tighten_the_sandbox() {
    let levels = ["off", "workspace", "read-only"];
    for (users, user) in levels.iter().enumerate() {
        for (projects, project) in levels.iter().enumerate() {
            let directories = Directories::new(
                &json!({"sandbox": user}).to_string(),
                &json!({"sandbox": project}).to_string(),
            );
            let layers = directories.load(&[]).unwrap();
            let stricter = levels[users.max(projects)];
            let list = layers.list();
            let sandbox = list.iter().find(|setting| setting.key.name == "sandbox");
            let found = sandbox.unwrap();
            assert_eq!(found.value.clone().unwrap(), stricter, "{user} {project}");
            let is_of_project = matches!(found.origin, Origin::Project(_));
            assert_eq!(is_of_project, projects > users, "{user} {project}");
        }
    }

    let allowing = json!({
        "sandbox_read": ["/"], "sandbox_write": ["/"], "sandbox_run": ["/bin/sh"],
        "sandbox_connect": ["*"], "sandbox_unix_sockets": ["/run/docker.sock"],
        "sandbox_environment": ["ANTHROPIC_API_KEY"]
    });
    let directories = Directories::new("", &allowing.to_string());
    let layers = directories.load(&[]).unwrap();
    assert_eq!(layers.settings(), Settings::default());
    assert_eq!(layers.warnings().len(), 6, "{:?}", layers.warnings());
    for (name, warning) in allowing.as_object().unwrap().keys().zip(layers.warnings()) {
        assert!(
            warning.contains("is ignored, because a project may not set it"),
            "{name}: {warning}"
        );
    }
    // What is ignored need not be right, and what is wrong in the user's file is still an error.
    for wrong in [
        json!({"sandbox_environment": ["*"]}),
        json!({"sandbox_connect": ["http://a"]}),
        json!({"sandbox_read": "/"}),
    ] {
        let directories = Directories::new("", &wrong.to_string());
        let layers = directories.load(&[]).unwrap();
        assert_eq!(layers.warnings().len(), 1, "{:?}", layers.warnings());
        assert!(layers.warnings()[0].contains("is ignored"));
        assert!(Directories::new(&wrong.to_string(), "").load(&[]).is_err());
    }

    let limits = |open_files: u64| {
        json!({"sandbox_memory_mib": open_files, "sandbox_processes": open_files,
            "sandbox_processor_seconds": open_files, "sandbox_open_files": open_files})
        .to_string()
    };
    for (user, project, lower) in [(20, 30, 20), (30, 20, 20)] {
        let directories = Directories::new(&limits(user), &limits(project));
        let settings = directories.load(&[]).unwrap().settings();
        let found = [
            settings.sandbox_memory_mib,
            settings.sandbox_processes,
            settings.sandbox_processor_seconds,
            settings.sandbox_open_files,
        ];
        assert_eq!(found, [Some(lower); 4]);
    }
}

#[test]
fn wrong_entries_of_the_sandbox_are_named() {
    for (settings, expected) in [
        (
            json!({"sandbox": "strict"}),
            "\"sandbox\" must be one of off, workspace, read-only",
        ),
        (
            json!({"sandbox_connect": ["github.com:443", "github.com:http"]}),
            "\"sandbox_connect\" has a wrong entry: \"github.com:http\" is not a host",
        ),
        (
            json!({"sandbox_write": ["out", ""]}),
            "\"sandbox_write\" has a wrong entry: expected a path, got nothing",
        ),
        (
            json!({"sandbox_environment": ["A=B"]}),
            "\"sandbox_environment\" has a wrong entry: \"A=B\" is not the name of a variable",
        ),
        (
            json!({"sandbox_environment": ["*"]}),
            "\"*\" is not the name of a variable",
        ),
        (
            json!({"sandbox_open_files": 3}),
            "\"sandbox_open_files\" must be a whole number of at least 16",
        ),
        (
            json!({"sandbox_read": "/usr"}),
            "\"sandbox_read\" must be a list of strings",
        ),
    ] {
        let error = Directories::new(&settings.to_string(), "")
            .load(&[])
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    let directories = Directories::new("", "");
    let error = directories.load(&[("ZOT_SANDBOX_CONNECT", "a b:1x")]);
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("$ZOT_SANDBOX_CONNECT has a wrong entry: \"a b:1x\""),
        "{error}"
    );
}

#[test]
fn one_file_is_not_read_twice() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join(".zot");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("config.json"), r#"{"session": false}"#).unwrap();
    let load = |cwd: &Path| Layers::load(&home, cwd, &|_| None).unwrap();
    assert_eq!(load(directory.path()).warnings(), &[] as &[String]);
    assert_eq!(load(directory.path()).settings().session, Some(false));
}

#[test]
fn empty_means_unset_for_every_key_in_both_files() {
    for empty in [json!(""), json!("  "), json!(null)] {
        let values: serde_json::Map<_, _> = KEYS
            .iter()
            .map(|key| (key.name.to_owned(), empty.clone()))
            .collect();
        let file = serde_json::Value::Object(values).to_string();
        let layers = Directories::new(&file, &file).load(&[]).unwrap();
        assert_eq!(layers.settings(), Settings::default(), "{empty}");
        assert_eq!(layers.warnings(), &[] as &[String], "{empty}");
    }
    // A setting that the project does not set keeps the user's value.
    let user = r#"{"provider": "openai", "model": "gpt-5", "reasoning": "low"}"#;
    let layers = Directories::new(user, r#"{"provider": "", "model": "", "reasoning": ""}"#);
    let settings = layers.load(&[]).unwrap().settings();
    assert_eq!(settings.model.as_deref(), Some("gpt-5"));
    assert_eq!(settings.reasoning, Some(ReasoningEffort::Low));
}

#[test]
fn settings_of_the_original_are_never_an_error() {
    let file = json!({
        "provider": "", "model": "", "reasoning": "maximum", "temperature": 0.7, "theme": "",
        "tool_render": "flat", "compact_input": true, "inline_images_enabled": false,
        "quick_model_shortcuts": [{"provider": "openai", "model": "gpt-5"}],
        "auto_swarm_enabled": null, "auto_compact_threshold": 70, "jail_by_default": true,
        "openrouter_server_tools_enabled": true, "recursive_file_suggest": false,
        "respect_gitignore": true, "compact_mode": true, "show_instructions_at_startup": true,
        "tui_input_style": "lines", "tui_status_position": "", "tui_working_position": "",
        "insecure": true, "http_proxy": "", "last_changelog_shown": "0.9.9"
    });
    let layers = Directories::new(&file.to_string(), "").load(&[]).unwrap();
    assert_eq!(
        layers.settings(),
        Settings {
            reasoning: Some(ReasoningEffort::High),
            jail: Some(true),
            inline_images_enabled: Some(false),
            ..Settings::default()
        }
    );
    assert_eq!(layers.warnings(), &[] as &[String]);
    assert_eq!(layers.unknown(), &[] as &[String]);
    let [note] = layers.notes() else {
        panic!("{:?}", layers.notes());
    };
    for name in ["temperature", "tool_render", "quick_model_shortcuts"] {
        assert!(note.contains(name), "{note}");
    }
    for (word, expected) in [
        ("off", None),
        ("none", Some(ReasoningEffort::None)),
        ("minimum", Some(ReasoningEffort::Minimal)),
        ("Medium", Some(ReasoningEffort::Medium)),
        ("xhigh", Some(ReasoningEffort::Xhigh)),
        ("max", Some(ReasoningEffort::Max)),
        ("maximum", Some(ReasoningEffort::High)),
    ] {
        let file = json!({"reasoning": word}).to_string();
        let settings = Directories::new(&file, "").load(&[]).unwrap().settings();
        assert_eq!(settings.reasoning, expected, "{word}");
    }
}

#[test]
fn an_unused_proxy_is_a_warning() {
    let directories = Directories::new(r#"{"http_proxy": "http://user:secret@proxy:3128"}"#, "");
    let layers = directories.load(&[]).unwrap();
    let [warning] = layers.warnings() else {
        panic!("{:?}", layers.warnings());
    };
    assert!(warning.contains("set HTTPS_PROXY"), "{warning}");
    assert!(!warning.contains("secret"), "{warning}");
    let layers = directories
        .load(&[("HTTPS_PROXY", "http://proxy")])
        .unwrap();
    assert_eq!(layers.warnings(), &[] as &[String]);
}
