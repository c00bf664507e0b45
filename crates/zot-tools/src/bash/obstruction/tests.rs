use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use zot_process::sandbox::{Level, Obstacles, Policy};

use super::{Obstruction, Said};
use crate::sandbox::{Allowance, Walls};
use crate::test_support::{Workspace, directory_outside};

fn walls(workspace: &Workspace, level: Level) -> Walls {
    workspace.apply(Policy::at(level));
    workspace.sandbox.walls().unwrap().unwrap()
}

fn found(workspace: &Workspace, walls: &Walls, output: &str) -> Option<Obstruction> {
    Obstruction::find(
        walls,
        &workspace.path(""),
        Obstacles::default(),
        Some(Said {
            output,
            script: "",
            failed: true,
        }),
    )
}

/// Returns what is offered for an output.
fn offered(workspace: &Workspace, walls: &Walls, output: &str) -> Vec<Allowance> {
    found(workspace, walls, output).map_or(Vec::new(), |found| found.allowances())
}

#[test]
fn only_what_the_sandbox_refuses_is_offered() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::Workspace);
    let outside = directory_outside();
    let outside = outside.path().canonicalize().unwrap();
    fs::write(outside.join("file"), "").unwrap();
    symlink(outside.join("file"), workspace.path("link")).unwrap();
    let file = outside.join("file");
    let denied = |path: &Path| format!("cat: {}: Permission denied", path.display());
    let create =
        |path: &Path| format!("sh: 1: cannot create {}: Permission denied", path.display());
    let offers = |output: &str| offered(&workspace, &walls, output);

    assert_eq!(offers(&denied(&file)), [Allowance::Read(file.clone())]);
    assert_eq!(offers(&create(&file)), [Allowance::Write(file.clone())]);
    // The file is shown, not the link to it.
    assert_eq!(
        offers("cat: link: Permission denied"),
        [Allowance::Read(file.clone())]
    );
    // A new file needs its directory.
    let fresh = outside.join("fresh");
    assert_eq!(offers(&create(&fresh)), [Allowance::Write(outside.clone())]);
    // It was the owner, not the sandbox.
    assert_eq!(offers("cat: a.txt: Permission denied"), []);
    assert_eq!(offers("cat: /missing/dir/file: Permission denied"), []);
    // Too much, or of the kernel.
    for path in ["/", "..", "../..", "/proc/1/environ", "/dev/mem", "/sys"] {
        assert_eq!(offers(&create(Path::new(path))), [], "{path}");
    }
}

#[test]
fn files_that_are_hidden_are_offered_if_they_exist() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::Workspace);
    let outside = directory_outside();
    let file = outside.path().canonicalize().unwrap().join("file");
    fs::write(&file, "").unwrap();
    let missing = |path: &Path| format!("cat: {}: No such file or directory", path.display());
    assert_eq!(
        offered(&workspace, &walls, &missing(&file)),
        [Allowance::Read(file.clone())]
    );
    fs::remove_file(&file).unwrap();
    assert_eq!(found(&workspace, &walls, &missing(&file)), None);
    assert_eq!(
        found(&workspace, &walls, &missing(Path::new("b.txt"))),
        None
    );
}

#[test]
fn protected_files_are_named_as_such() {
    let workspace = Workspace::recorded();
    fs::create_dir_all(workspace.path(".git/hooks")).unwrap();
    fs::write(workspace.path(".git/config"), "").unwrap();
    symlink(".git/config", workspace.path("innocent")).unwrap();
    let walls = walls(&workspace, Level::Workspace);
    let config = Allowance::Write(workspace.path(".git/config"));
    for path in [".git/config", "innocent"] {
        let output = format!("tee: {path}: Read-only file system");
        assert_eq!(
            offered(&workspace, &walls, &output),
            std::slice::from_ref(&config)
        );
    }
    // Allowing a file in it would not help.
    let output = "tee: .git/hooks/pre-commit: Read-only file system";
    let hooks = Allowance::Write(workspace.path(".git/hooks"));
    assert_eq!(offered(&workspace, &walls, output), [hooks]);
}

#[test]
fn a_path_that_cannot_be_shown_is_not_offered() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::Workspace);
    let outside = directory_outside();
    let outside = outside.path().canonicalize().unwrap();
    for name in ["a\u{1b}[2Jb", "a\u{202e}b", "a\u{200b}b", &"n".repeat(250)] {
        let mut path = outside.join(name);
        if name.len() == 250 {
            path = path.join(name);
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let output = format!("cat: {}: Permission denied", path.display());
        assert_eq!(offered(&workspace, &walls, &output), [], "{name:?}");
    }
}

#[test]
fn the_level_read_only_offers_files_of_the_working_directory() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::ReadOnly);
    let output = "tee: a.txt: Read-only file system";
    assert_eq!(
        offered(&workspace, &walls, output),
        [Allowance::Write(workspace.path("a.txt"))]
    );
    let text = found(&workspace, &walls, output).unwrap().explain();
    let expected = format!(
        "\n[sandbox read-only] changing {path} is refused; only the user can allow it, with \
         --sandbox-write {path}",
        path = workspace.path("a.txt").display()
    );
    assert_eq!(text, expected);
    let text = found(
        &workspace,
        &walls,
        "curl: (6) Could not resolve host: example.com",
    )
    .unwrap();
    let text = text.explain();
    assert!(
        text.contains("this may be why the command failed"),
        "{text}"
    );
    assert!(text.contains("the network is closed"), "{text}");
    assert!(
        text.contains("can only be read, $TMPDIR can be changed"),
        "{text}"
    );
}
