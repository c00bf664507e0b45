//! The table of extensions.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Bench, GOOD, manifest, write_extension};

fn populated() -> Bench {
    let bench = Bench::new();
    let global = bench.installed();
    write_extension(&global.join("good"), &manifest("good"), GOOD);
    write_extension(&global.join("both"), &manifest("both"), GOOD);
    let off = r#"{"name":"off","exec":"./run.sh","enabled":false,"permissions":{"network":true}}"#;
    write_extension(&global.join("off"), off, GOOD);
    write_extension(&global.join("torn"), "{\"name\":", GOOD);
    let dies = "#!/bin/sh\nexit 3\n";
    write_extension(&global.join("dies"), &manifest("dies"), dies);
    let project = bench.0.path().join(".zot/extensions");
    write_extension(&project.join("both"), &manifest("both"), GOOD);
    bench
}

fn row<'a>(table: &'a str, start: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("{start}: {table}"));
    line.split("  ")
        .map(str::trim)
        .filter(|c| !c.is_empty())
        .collect()
}

#[test]
fn the_table_shows_the_state_of_each_extension() {
    let bench = populated();
    let table = bench.succeed(&["list"]);
    assert_eq!(
        row(&table, "NAME"),
        [
            "NAME",
            "VERSION",
            "STATE",
            "SOURCE",
            "PERMISSIONS",
            "COMMANDS",
            "TOOLS"
        ]
    );
    assert_eq!(
        row(&table, "good"),
        [
            "good",
            "1.0.0",
            "enabled",
            "global",
            "full access",
            "/greet",
            "add"
        ]
    );
    assert_eq!(row(&table, "off")[2..5], ["disabled", "global", "network"]);
    assert!(row(&table, "dies")[2].starts_with("broken: it ended before its hello"));
    assert!(row(&table, "torn")[2].starts_with("broken: parse manifest"));
    let both: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("both"))
        .collect();
    assert!(
        both[0].contains("enabled") && both[0].contains("project"),
        "{table}"
    );
    assert!(
        both[1].contains("shadowed by") && both[1].contains("global"),
        "{table}"
    );
}

#[test]
fn enforced_limits_are_shown_for_each_extension() {
    let bench = Bench::new();
    let tight = r#"{"name":"tight","exec":"./run.sh","permissions":{}}"#;
    let open = r#"{"name":"open","exec":"./run.sh","permissions":{"network":true,"exec":true}}"#;
    write_extension(&bench.installed().join("tight"), tight, GOOD);
    write_extension(&bench.installed().join("open"), open, GOOD);
    write_extension(&bench.installed().join("full"), &manifest("full"), GOOD);
    let table = bench.succeed(&["list"]);
    let description = |name: &str| {
        let line = table.lines().find(|l| l.starts_with(&format!("{name}: ")));
        line.map(str::to_owned)
    };
    assert_eq!(description("full"), None, "{table}");
    let list: Value = serde_json::from_str(&bench.succeed(&["list", "--json"])).unwrap();
    let enforcement = |name: &str| {
        let entries = list.as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["name"] == name);
        entry.unwrap()["enforcement"].clone()
    };
    assert_eq!(enforcement("full"), Value::Null);
    assert_eq!(enforcement("open")["network"]["status"], "not_restricted");
    assert!(!description("open").unwrap().contains("network"), "{table}");
    let statuses = enforcement("tight");
    let statuses = statuses.as_object().unwrap().values();
    let all_enforced = statuses.clone().all(|part| part["status"] == "enforced");
    if all_enforced {
        assert_eq!(
            description("tight").unwrap(),
            "tight: enforced: files, programs, network, memory"
        );
    } else {
        for reason in statuses.filter_map(|part| part["reason"].as_str()) {
            assert!(description("tight").unwrap().contains(reason), "{table}");
        }
    }
    // According to the kernel, not to the code under test.
    let has_landlock = fs::read_to_string("/sys/kernel/security/lsm")
        .is_ok_and(|modules| modules.contains("landlock"));
    if has_landlock {
        assert_ne!(
            enforcement("tight")["files"]["status"],
            "not_enforced",
            "{table}"
        );
    }
}

#[test]
fn programs_get_an_array() {
    let bench = populated();
    let list: Value = serde_json::from_str(&bench.succeed(&["list", "--json"])).unwrap();
    let named = |name: &str| {
        list.as_array()
            .unwrap()
            .iter()
            .find(|e| e["name"] == name)
            .unwrap()
    };
    assert_eq!(named("good")["state"], "enabled");
    assert_eq!(named("good")["permissions"], Value::Null);
    assert_eq!(named("good")["commands"][0]["name"], "greet");
    assert_eq!(named("good")["tools"][0]["schema"]["type"], "object");
    assert_eq!(named("off")["permissions"]["network"], true);
    assert_eq!(named("off")["commands"], Value::Null);
    assert_eq!(named("torn")["state"], "broken");
    assert_eq!(named("dies")["state"], "broken");
    assert!(
        named("dies")["reason"]
            .as_str()
            .unwrap()
            .contains("exit status: 3")
    );
}

#[test]
fn no_start_starts_nothing() {
    let bench = Bench::new();
    let script = "#!/bin/sh\ntouch started\n";
    write_extension(&bench.installed().join("x"), &manifest("x"), script);
    let table = bench.succeed(&["list", "--no-start"]);
    assert_eq!(row(&table, "x")[2], "enabled");
    assert!(!bench.installed().join("x/started").exists());
    bench.succeed(&["list"]);
    assert!(bench.installed().join("x/started").exists());
}

#[test]
fn silent_extensions_are_waited_for_in_parallel() {
    let bench = Bench::new();
    let marker = format!("87{:04}", std::process::id() % 10000);
    let mute = format!("#!/bin/sh\nsleep {marker}\n");
    for name in ["one", "two", "three", "four"] {
        write_extension(&bench.installed().join(name), &manifest(name), &mute);
    }
    let start = Instant::now();
    let table = bench.succeed(&["list"]);
    assert!(
        start.elapsed() < Duration::from_secs(12),
        "{:?}",
        start.elapsed()
    );
    assert!(
        row(&table, "one")[2].contains("did not send hello"),
        "{table}"
    );
    assert!(testkit::process::with_command_line(&format!("sleep {marker}")).is_empty());
}

#[test]
fn an_empty_home_says_what_to_do() {
    let bench = Bench::new();
    assert!(bench.succeed(&["list"]).contains("zot ext install"));
    assert_eq!(bench.succeed(&["list", "--json"]).trim(), "[]");
    let list = bench.installed();
    assert!(fs::metadata(list).is_err(), "looking changes nothing");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let bench = Bench::new();
    let script = GOOD.replace("\"greet\"", "\"gr\\\\u001b[31meet\"");
    write_extension(&bench.installed().join("good"), &manifest("good"), &script);
    let ended = testkit::run_at_terminal(bench.command(&["list"]).into_command());
    testkit::assert_harmless("ext list", &ended.output);
    let table = String::from_utf8_lossy(&ended.output);
    assert!(table.contains("/greet"), "{table}");
    // In a pipe, bytes stay unchanged.
    let table = bench.succeed(&["list"]);
    assert!(table.contains("/gr\u{1b}[31meet"), "{table}");
}
