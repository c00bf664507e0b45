use std::fs;
use std::os::unix::fs::symlink;

use std::path::{Path, PathBuf};

use super::{Named, files, named_in};

fn paths(root: &Path) -> Vec<PathBuf> {
    // Not the configuration of the user who runs the test.
    files(root, None, Some(&root.join("home"))).paths
}

#[test]
fn names_in_a_configuration_are_found() {
    let text = "[core]\n\tbare = false\n\thooksPath = .husky ; why\n[include]path=\"../sh ared\\\\x\"\n\
                [includeIf \"gitdir:~/\"]\n PATH = a\\\nb # c\n[user]\npath = no\n[core] hookspath = \"x#y\"\n";
    assert_eq!(
        named_in(text),
        [
            Named::Hooks(".husky".to_owned()),
            Named::File("../sh ared\\x".to_owned()),
            Named::File("ab".to_owned()),
            Named::Hooks("x#y".to_owned()),
        ]
    );
}

#[test]
fn repositories_are_found_wherever_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    assert_eq!(paths(&root), [] as [std::path::PathBuf; 0]);

    // A file that names it, which names another one.
    fs::create_dir_all(root.join(".bare/worktrees/one")).unwrap();
    fs::write(root.join(".git"), "gitdir: ./.bare/worktrees/one\n").unwrap();
    fs::write(root.join(".bare/worktrees/one/commondir"), "../..\n").unwrap();
    fs::write(
        root.join(".bare/config"),
        "[core]\nhooksPath = .husky\n[include]\npath = ../shared\n",
    )
    .unwrap();
    fs::write(root.join("shared"), "[include]\npath = more\n").unwrap();
    // It includes itself.
    fs::write(root.join("more"), "[include]\npath = shared\n").unwrap();
    let found = paths(&root);
    for expected in [
        ".bare/worktrees/one/commondir",
        ".bare/config",
        ".bare/hooks",
        ".husky",
        "shared",
        "more",
    ] {
        assert!(
            found.contains(&root.join(expected)),
            "{expected}: {found:?}"
        );
    }

    // A link.
    fs::remove_file(root.join(".git")).unwrap();
    symlink(".bare", root.join(".git")).unwrap();
    assert!(paths(&root).contains(&root.join(".bare/hooks")));

    // A repository that is not there yet.
    fs::remove_file(root.join(".git")).unwrap();
    fs::write(root.join(".git"), "gitdir: later/repository\n").unwrap();
    assert!(paths(&root).contains(&root.join("later/repository/hooks")));

    // The user's own configuration.
    fs::create_dir(root.join("home")).unwrap();
    fs::write(root.join("home/.gitconfig"), "[core]\nhooksPath = .hooks\n").unwrap();
    assert!(paths(&root).contains(&root.join(".hooks")));
    fs::remove_dir_all(root.join("home")).unwrap();

    // A pipe is not opened.
    fs::remove_file(root.join(".git")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(root.join(".git"))
        .status();
    assert!(made.unwrap().success());
    assert_eq!(paths(&root), [] as [std::path::PathBuf; 0]);
}
