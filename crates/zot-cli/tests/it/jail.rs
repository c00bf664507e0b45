//! `--jail` in every mode except the chat.

use serde_json::Value;
use testkit::{Finished, Workdir, ZotCommand};

use crate::support::{binary, of_kind};

struct Project {
    workdir: Workdir,
}

impl Project {
    /// A working directory with a file beside it.
    fn new() -> Self {
        let workdir = Workdir::new("work");
        std::fs::write(workdir.parent().join("beside.txt"), "a secret\n").unwrap();
        Self { workdir }
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
        let mut command = ZotCommand::new(binary(), &self.workdir).arguments(arguments);
        for (name, value) in variables {
            command = command.env(name, value);
        }
        command.run("")
    }

    /// Returns the results of the tools that the stand-in calls for a prompt.
    fn results(&self, arguments: &[&str], prompt: &str) -> Vec<(bool, String)> {
        let all = [&["--json", "--provider", "offline"], arguments, &[prompt]].concat();
        let finished = self.run(&all, &[]);
        let frames: Vec<Value> = finished
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        of_kind(&frames, "tool_result")
            .into_iter()
            .map(|frame| (frame["is_error"] == false, frame.to_string()))
            .collect()
    }
}

const READ_BESIDE: &str = r#"call read {"path": "../beside.txt"}"#;

#[test]
fn files_outside_the_working_directory_are_out_of_reach() {
    let project = Project::new();
    let free = project.results(&[], READ_BESIDE);
    assert!(free[0].0 && free[0].1.contains("a secret"), "{free:?}");
    let held = project.results(&["--jail"], READ_BESIDE);
    assert!(!held[0].0, "{held:?}");
    // Below /tmp the jail has files of its own.
    assert!(
        held[0].1.contains("is outside of the") || held[0].1.contains("is not in the sandbox"),
        "{held:?}"
    );

    let commands = [
        ("run: cat ../beside.txt", Some(false)),
        // It may seem to work, below the jail's own /tmp.
        ("run: echo x > ../beside.txt", None),
        ("run: echo x > inside.txt", Some(true)),
        (
            "run: t=$(mktemp) && echo x > $t && mv $t moved.txt",
            Some(true),
        ),
    ];
    for (prompt, expected) in commands {
        let results = project.results(&["--jail"], prompt);
        if results[0].1.contains("cannot be confined here") {
            assert!(!results[0].0, "{results:?}");
            continue;
        }
        if let Some(expected) = expected {
            assert_eq!(results[0].0, expected, "{prompt}: {results:?}");
        }
        assert!(!results[0].1.contains("a secret"), "{results:?}");
    }
    let beside = std::fs::read(project.workdir.parent().join("beside.txt")).unwrap();
    assert_eq!(beside, b"a secret\n");
}

#[test]
fn a_setting_and_a_variable_jail_too() {
    let project = Project::new();
    let print = ["-p", "--provider", "offline", READ_BESIDE];
    assert!(project.run(&print, &[]).stdout.contains("a secret"));
    let held = project.run(&print, &[("ZOT_JAIL", "true")]);
    assert!(!held.stdout.contains("a secret"), "{}", held.stdout);
    project
        .workdir
        .write(".zot/config.json", r#"{"jail": true}"#);
    let held = project.run(&print, &[]);
    assert!(!held.stdout.contains("a secret"), "{}", held.stdout);
    assert!(
        project
            .run(&print, &[("ZOT_JAIL", "false")])
            .stdout
            .contains("a secret")
    );
}

#[test]
fn the_pipe_reports_the_jail_and_nothing_else_new() {
    let project = Project::new();
    let state = |arguments: &[&str]| {
        let all = [&["rpc", "--provider", "offline"], arguments].concat();
        let command = ZotCommand::new(binary(), &project.workdir).arguments(&all);
        let finished = command.run("{\"type\":\"get_state\",\"id\":\"1\"}\n");
        let lines = finished.stdout.lines();
        lines
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .find(|frame| frame["command"] == "get_state")
            .unwrap()
    };
    assert_eq!(state(&["--jail"])["data"]["jailed"], true);
    assert_eq!(state(&[])["data"].get("jailed"), None);
}

#[test]
fn no_temporary_directory_is_left_behind() {
    let project = Project::new();
    let temporary = project.workdir.parent().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let prompt = "run: echo kept > $TMPDIR/file && mkdir $HOME/more";
    let arguments = ["-p", "--provider", "offline", "--jail", prompt];
    let finished = project.run(&arguments, &[("TMPDIR", temporary.to_str().unwrap())]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}
