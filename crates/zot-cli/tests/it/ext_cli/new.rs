//! Every skeleton works as it is made.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Bench;

/// Makes a skeleton and runs its own tests, then ours.
fn check(language: &str, build: &[&str], own_tests: &[&str]) {
    let bench = Bench::new();
    bench.succeed(&["new", "my.first", "--lang", language]);
    let directory = bench.0.path().join("my.first");
    for command in [build, own_tests] {
        if let [program, arguments @ ..] = command {
            run(&directory, program, arguments);
        }
    }
    let report = bench.succeed(&["test", "my.first"]);
    assert!(report.contains("0 warnings, 0 failures"), "{report}");
    assert!(report.contains("ok    command /my_first"), "{report}");
    assert!(report.contains("ok    tool my_first_greet"), "{report}");
    assert!(directory.join("README.md").exists());
    let text = fs::read_to_string(directory.join("README.md")).unwrap();
    assert!(!text.contains("{{"), "{text}");
    bench.succeed(&["install", "my.first", "--yes"]);
    assert!(bench.succeed(&["list"]).contains("my_first_greet"));
}

fn run(directory: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {said}{shown}"
    );
}

#[test]
fn python() {
    check("python", &[], &["python3", "-m", "unittest"]);
}

#[test]
fn typescript() {
    check("typescript", &[], &["node", "--test"]);
}

#[test]
fn shell() {
    check("shell", &[], &["./test.sh"]);
}

#[test]
fn rust() {
    let cargo = env!("CARGO");
    let build = [
        cargo,
        "build",
        "--release",
        "--offline",
        "--quiet",
        "--target-dir",
        "target",
    ];
    let test = [
        cargo,
        "test",
        "--release",
        "--offline",
        "--quiet",
        "--target-dir",
        "target",
    ];
    check("rust", &build, &test);
}

#[test]
fn nothing_is_overwritten() {
    let bench = Bench::new();
    bench.0.write("mine/note.txt", "mine");
    let said = bench.fail(1, &["new", "mine", "--lang", "shell"]);
    assert!(said.contains("exists already"), "{said}");
    assert_eq!(
        fs::read_dir(bench.0.path().join("mine")).unwrap().count(),
        1
    );
    for name in ["../x", "a/b", ".hidden", "", "two words"] {
        let said = bench.fail(1, &["new", name, "--lang", "shell"]);
        assert!(said.contains("name"), "{said}");
    }
    bench.succeed(&["new", "mine", "--lang", "shell", "--dir", "deep/er/mine"]);
    assert!(bench.0.path().join("deep/er/mine/main.sh").exists());
}
