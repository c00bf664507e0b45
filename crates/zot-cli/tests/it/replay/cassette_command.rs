//! `zot cassette`.

use std::path::Path;

use testkit::{Finished, Workdir};

use super::{Project, bare, offline_cassette, turns};

struct Bench {
    project: Project,
    shelf: Workdir,
}

impl Bench {
    fn new(prompts: &[&str]) -> Self {
        let shelf = Workdir::new("shelf");
        offline_cassette(&shelf, prompts);
        Self {
            project: Project::new(&shelf),
            shelf,
        }
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        let command = self.project.command(&["cassette"]);
        let file = self.project.cassette();
        let arguments = arguments.iter().map(|argument| match *argument {
            "FILE" => file.as_os_str(),
            other => other.as_ref(),
        });
        command.arguments(arguments).run("")
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stdout);
        ended.stderr
    }
}

#[test]
fn show_lists_the_exchanges() {
    let bench = Bench::new(&["hello", "read a.txt"]);
    let shown = bench.succeed(&["show", "FILE"]);
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0][..2], ["offline", "offline,"]);
    assert_eq!(lines[1][..4], ["N", "MODEL", "MESSAGES", "NEW"]);
    assert_eq!(lines[2][..4], ["1", "offline", "1", "1"]);
    assert_eq!(lines[3][..4], ["2", "offline", "3", "2"]);
    assert_eq!(lines[4][..4], ["3", "offline", "5", "2"]);
    let endings: Vec<_> = lines[2..].iter().map(|l| *l.last().unwrap()).collect();
    assert_eq!(endings, ["end", "tool_use", "end"]);
}

#[test]
fn verify_finds_what_is_wrong() {
    let bench = Bench::new(&["hello", "my name is Ann"]);
    let file = bench.project.cassette();
    assert!(bench.succeed(&["verify", "FILE"]).contains("2 exchanges"));
    let errors = bench.fail(1, &["verify", "FILE", "--pattern", "Ann"]);
    assert!(errors.contains("cassette redact"), "{errors}");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 9]).unwrap();
    let errors = bench.fail(1, &["verify", "FILE"]);
    assert!(
        errors.contains("line 3") && errors.contains("--keep 1..1"),
        "{errors}"
    );
    assert!(bench.fail(1, &["verify", "/no/such"]).contains("/no/such"));
}

#[test]
fn redact_removes_given_texts() {
    let bench = Bench::new(&["hello", "my name is Ann"]);
    bench.succeed(&["redact", "FILE", "--pattern", "Ann", "--pattern", "hello"]);
    bench.succeed(&["verify", "FILE", "--pattern", "Ann"]);
    let text = std::fs::read_to_string(bench.project.cassette()).unwrap();
    assert!(
        !text.contains("Ann") && !text.contains("\"hello\""),
        "{text}"
    );
    let project = Project::new(&bench.shelf);
    let mut zot = project.replaying(&["rpc"]).spawn();
    turns(&mut zot, &["hello", "my name is Ann"]);
    assert!(!zot.lines().iter().any(|line| line.contains("\"error\"")));
}

#[test]
fn trim_keeps_the_given_exchanges() {
    let bench = Bench::new(&["hello", "hello", "hello", "hello"]);
    let file = bench.project.cassette();
    let before = bare(&file);
    bench.succeed(&["trim", "FILE", "--drop-timing"]);
    assert_eq!(bare(&file), before);
    assert!(
        bench
            .succeed(&["trim", "FILE", "--keep", "1..3"])
            .contains("3 exchanges")
    );
    assert!(
        bench
            .succeed(&["trim", "FILE", "--keep", "2.."])
            .contains("2 exchanges")
    );
    bench.succeed(&["verify", "FILE"]);
    assert!(
        bench
            .fail(1, &["trim", "FILE", "--keep", "7"])
            .contains("1 to 2")
    );
    assert_eq!(exchanges(&file), 2, "a failure changes nothing");
}

fn exchanges(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap().lines().count() - 1
}

#[test]
fn wrong_use_exits_with_2() {
    let bench = Bench::new(&["hello"]);
    for arguments in [
        &[][..],
        &["play", "FILE"],
        &["show"],
        &["trim", "FILE"],
        &["trim", "FILE", "--keep", "3..2"],
        &["trim", "FILE", "--keep", "0"],
        &["trim", "FILE", "--keep", ".."],
    ] {
        assert!(!bench.fail(2, arguments).is_empty());
    }
    assert!(bench.succeed(&["--help"]).contains("verify"));
}
