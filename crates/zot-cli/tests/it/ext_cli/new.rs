//! Every skeleton works unchanged.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Bench;

/// Creates a skeleton and runs its own tests, then ours. Returns the names of its files.
fn check(language: &str, flags: &[&str], build: &[&str], own_tests: &[&str]) -> BTreeSet<String> {
    let bench = Bench::new();
    bench.succeed(&[&["new", "my.first", "--lang", language], flags].concat());
    let files = names(&bench.0.path().join("my.first"));
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
    files
}

/// The paths of all files below a directory.
fn names(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(
                names(&entry.path())
                    .iter()
                    .map(|file| format!("{name}/{file}")),
            ),
            false => _ = found.insert(name),
        }
    }
    found
}

/// Checks that a skeleton holds every file of the SDK, in `directory`.
fn check_sdk(files: &BTreeSet<String>, directory: &str, sources: &str) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../sdk")
        .join(sources);
    let is_source = |name: &String| !name.ends_with(".pyc");
    let expected: BTreeSet<_> = names(&sources).into_iter().filter(is_source).collect();
    let prefix = format!("{directory}/");
    let copied = files.iter().filter_map(|file| file.strip_prefix(&prefix));
    assert_eq!(copied.map(str::to_owned).collect::<BTreeSet<_>>(), expected);
}

fn run(directory: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {errors}{shown}"
    );
}

#[test]
fn python() {
    let files = check("python", &[], &[], &["python3", "-m", "unittest"]);
    check_sdk(&files, "zot_ext", "python/zot_ext");
}

#[test]
fn python_without_the_sdk() {
    let files = check("python", &["--plain"], &[], &["python3", "-m", "unittest"]);
    assert_eq!(files.len(), 4, "{files:?}");
}

#[test]
fn typescript() {
    let files = check("typescript", &[], &[], &["node", "--test"]);
    check_sdk(&files, "zot-ext", "typescript/src");
}

#[test]
fn typescript_without_the_sdk() {
    let files = check("typescript", &["--plain"], &[], &["node", "--test"]);
    assert_eq!(files.len(), 5, "{files:?}");
}

#[test]
fn shell() {
    check("shell", &[], &[], &["./test.sh"]);
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
    check("rust", &[], &build, &test);
}

#[test]
fn nothing_is_overwritten() {
    let bench = Bench::new();
    bench.0.write("mine/note.txt", "mine");
    let errors = bench.fail(1, &["new", "mine", "--lang", "shell"]);
    assert!(errors.contains("exists already"), "{errors}");
    assert_eq!(
        fs::read_dir(bench.0.path().join("mine")).unwrap().count(),
        1
    );
    for name in ["../x", "a/b", ".hidden", "", "two words"] {
        let errors = bench.fail(1, &["new", name, "--lang", "shell"]);
        assert!(errors.contains("name"), "{errors}");
    }
    bench.succeed(&["new", "mine", "--lang", "shell", "--dir", "deep/er/mine"]);
    assert!(bench.0.path().join("deep/er/mine/main.sh").exists());
}
