//! `--jail` in every mode without a terminal.

use serde_json::Value;
use testkit::{Finished, Workdir, ZotCommand};

use crate::support::{binary, of_kind};

struct Place {
    workdir: Workdir,
}

impl Place {
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

    /// The results of the tools that a prompt makes the stand-in call.
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
fn files_beside_the_working_directory_are_out_of_reach() {
    let place = Place::new();
    let free = place.results(&[], READ_BESIDE);
    assert!(free[0].0 && free[0].1.contains("a secret"), "{free:?}");
    let held = place.results(&["--jail"], READ_BESIDE);
    assert!(!held[0].0, "{held:?}");
    assert!(
        held[0].1.contains("is outside of the directory"),
        "{held:?}"
    );

    let commands = [
        ("run: cat ../beside.txt", false),
        ("run: echo x > ../beside.txt", false),
        ("run: echo x > inside.txt", true),
        ("run: t=$(mktemp) && echo x > $t && mv $t moved.txt", true),
    ];
    for (prompt, expected) in commands {
        let results = place.results(&["--jail"], prompt);
        if results[0].1.contains("cannot be confined here") {
            assert!(!results[0].0, "{results:?}");
            continue;
        }
        assert_eq!(results[0].0, expected, "{prompt}: {results:?}");
        assert!(!results[0].1.contains("a secret"), "{results:?}");
    }
    let beside = std::fs::read(place.workdir.parent().join("beside.txt")).unwrap();
    assert_eq!(beside, b"a secret\n");
}

#[test]
fn a_setting_and_a_variable_jail_as_well() {
    let place = Place::new();
    let print = ["-p", "--provider", "offline", READ_BESIDE];
    assert!(place.run(&print, &[]).stdout.contains("a secret"));
    let held = place.run(&print, &[("ZOT_JAIL", "true")]);
    assert!(!held.stdout.contains("a secret"), "{}", held.stdout);
    place.workdir.write(".zot/config.json", r#"{"jail": true}"#);
    let held = place.run(&print, &[]);
    assert!(!held.stdout.contains("a secret"), "{}", held.stdout);
    assert!(
        place
            .run(&print, &[("ZOT_JAIL", "false")])
            .stdout
            .contains("a secret")
    );
}

#[test]
fn the_pipe_tells_that_it_is_jailed_and_else_nothing_new() {
    let place = Place::new();
    let state = |arguments: &[&str]| {
        let all = [&["rpc", "--provider", "offline"], arguments].concat();
        let command = ZotCommand::new(binary(), &place.workdir).arguments(&all);
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
    let place = Place::new();
    let temporary = place.workdir.parent().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let prompt = "run: echo kept > $TMPDIR/file && mkdir $HOME/more";
    let arguments = ["-p", "--provider", "offline", "--jail", prompt];
    let finished = place.run(&arguments, &[("TMPDIR", temporary.to_str().unwrap())]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}
