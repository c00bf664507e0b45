//! `zot doctor` finds problems even when nothing else works.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::{ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

fn doctor(
    workdir: &Workdir,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (Option<i32>, Value) {
    let mut command = ZotCommand::new(binary(), workdir)
        .arguments(["doctor", "--json"])
        .arguments(arguments);
    for (name, value) in variables {
        command = command.env(name, value);
    }
    let run = command.run("");
    let report = serde_json::from_str(&run.stdout);
    (
        run.code,
        report.unwrap_or_else(|error| panic!("{error}: {:?} {}", run.stdout, run.stderr)),
    )
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut checks = report["checks"].as_array().unwrap().iter();
    let found = checks.find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-doctor-0123456789");

#[test]
fn all_is_well() {
    let workdir = Workdir::new("work");
    let (code, report) = doctor(&workdir, &[], &[KEY]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["ok"], true);
    assert_eq!(
        check(&report, "model")["found"],
        "gpt-6.1-sol of openai, key from $OPENAI_API_KEY"
    );
    for name in ["home", "settings", "keys", "terminal", "programs"] {
        assert_eq!(check(&report, name)["state"], "ok", "{name}");
    }
    assert!(
        !report.to_string().contains("0123456789"),
        "no secret is shown"
    );
    assert!(!workdir.zot_home().exists(), "nothing is left behind");
    assert!(report["network"].is_null());
}

#[test]
fn every_problem_is_reported_with_a_fix() {
    for (file, content, name, expected) in [
        ("config.json", "{\n oops", "settings", "config.json, line 2"),
        ("providers.json", "{}", "providers", "providers.json"),
        ("models.json", "{", "models", "models.json"),
        ("auth.json", "{}", "keys", "chmod 600"),
    ] {
        let workdir = Workdir::new("work");
        fs::create_dir_all(workdir.zot_home()).unwrap();
        let path = workdir.zot_home().join(file);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let (code, report) = doctor(&workdir, &[], &[KEY]);
        assert_eq!(code, Some(1), "{file}");
        let check = check(&report, name);
        assert_eq!(check["state"], "problem", "{report:#}");
        assert!(
            check["found"].as_str().unwrap().contains(expected),
            "{check}"
        );
    }
}

#[test]
fn directories_and_programs_are_checked() {
    let workdir = Workdir::new("work");
    fs::create_dir_all(workdir.zot_home()).unwrap();
    fs::set_permissions(workdir.zot_home(), fs::Permissions::from_mode(0o777)).unwrap();
    let (code, report) = doctor(&workdir, &[], &[KEY, ("PATH", "/nonexistent")]);
    assert_eq!(code, Some(1));
    let home = check(&report, "home");
    assert!(
        home["fix"].as_str().unwrap().starts_with("chmod go-w"),
        "{home}"
    );
    assert_eq!(check(&report, "programs")["fix"], "install git");

    // Without a key only the stand-in works.
    let workdir = Workdir::new("work");
    let (code, report) = doctor(&workdir, &[], &[]);
    assert_eq!(code, Some(1));
    assert!(
        check(&report, "keys")["fix"]
            .as_str()
            .unwrap()
            .contains("zot login")
    );
    assert!(
        check(&report, "model")["found"]
            .as_str()
            .unwrap()
            .contains("zot login")
    );
    let (code, _) = doctor(&workdir, &["--provider", "offline"], &[]);
    assert_eq!(code, Some(0));
}

/// Root ignores permissions, so files take the place of directories.
#[test]
fn a_home_that_cannot_be_written_is_a_problem() {
    let workdir = Workdir::new("work");
    workdir.write("file", b"");
    let file = workdir.path().join("file");
    let below = file.join("zot").display().to_string();
    let (code, report) = doctor(&workdir, &[], &[KEY, ("ZOT_HOME", &below)]);
    assert_eq!(code, Some(1), "{report:#}");
    let home = check(&report, "home");
    assert_eq!(home["state"], "problem", "{home}");
    assert!(home["fix"].as_str().unwrap().contains("ZOT_HOME"), "{home}");

    fs::create_dir_all(workdir.zot_home()).unwrap();
    fs::write(workdir.zot_home().join("sessions"), "").unwrap();
    let (code, report) = doctor(&workdir, &[], &[KEY]);
    assert_eq!(code, Some(1), "{report:#}");
    let found = check(&report, "home")["found"].as_str().unwrap();
    assert!(found.contains("sessions cannot be written to"), "{found}");

    let dangling = workdir.path().join("dangling");
    std::os::unix::fs::symlink("/no/such/directory", &dangling).unwrap();
    let dangling = dangling.display().to_string();
    let (code, report) = doctor(&workdir, &[], &[KEY, ("ZOT_HOME", &dangling)]);
    assert_eq!(code, Some(1), "{report:#}");
    assert_eq!(check(&report, "home")["state"], "problem", "{report:#}");
}

#[test]
fn a_server_that_cannot_be_reached_is_a_problem() {
    let workdir = Workdir::new("work");
    let server = ModelServer::start();
    let url = server.url(Wire::OpenAi);
    let (code, report) = doctor(&workdir, &["--probe", "--base-url", &url], &[KEY]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["network"]["host"], "127.0.0.1");
    assert_eq!(report["probe"].as_array().unwrap().len(), 2);
    drop(server);
    let (code, report) = doctor(&workdir, &["--probe", "--base-url", &url], &[KEY]);
    assert_eq!((code, &report["ok"]), (Some(1), &Value::Bool(false)));
    let text = ZotCommand::new(binary(), &workdir)
        .arguments(["doctor"])
        .run("");
    assert!(text.stdout.contains("problem  model"), "{}", text.stdout);
}

#[test]
fn a_discontinued_model_is_reported_with_its_successor() {
    let workdir = Workdir::new("work");
    let (_, report) = doctor(&workdir, &["--provider", "openai", "--model", "o1"], &[KEY]);
    let text = check(&report, "model").to_string();
    assert!(
        text.contains("ended on 2026-10-23; use gpt-6.1-sol"),
        "{text}"
    );
    // A custom server may still have it.
    let arguments = ["--provider", "openai", "--model", "o1", "--base-url"];
    let arguments = [&arguments[..], &["http://127.0.0.1:1/v1"]].concat();
    let (_, report) = doctor(&workdir, &arguments, &[KEY]);
    let text = check(&report, "model").to_string();
    assert!(!text.contains("ended on"), "{text}");
}
