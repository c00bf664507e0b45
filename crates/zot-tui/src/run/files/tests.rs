use std::fs;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use super::*;

fn names(choices: &Choices) -> Vec<String> {
    choices
        .iter()
        .map(|choice| choice.name.to_owned())
        .collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn top_files_come_first_and_ignored_ones_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    for path in [
        "b.txt",
        "a/deep/er/c.rs",
        "a/d.rs",
        "target/e.o",
        ".hidden/f",
    ] {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    std::fs::write(directory.path().join(".gitignore"), "target/\n").unwrap();
    assert_eq!(
        names(&list(directory.path())),
        [
            "b.txt",
            "a/",
            "a/d.rs",
            "a/deep/",
            "a/deep/er/",
            "a/deep/er/c.rs"
        ]
    );
    assert_eq!(
        names(&list_near(directory.path())),
        ["b.txt", "a/", "a/d.rs", "a/deep/"]
    );
}

#[test]
fn ignore_files_mean_what_they_mean_to_other_programs() {
    let directory = tempfile::tempdir().unwrap();
    let (outer, root) = (directory.path(), directory.path().join("outer/project"));
    for (path, text) in [
        (".ignore", "above.txt\n/project\n"),
        (".gitignore", "git-above.txt\n"),
        ("outer/.gitignore", "*.outer\n/project/anchored\n"),
    ] {
        write(outer, path, text);
    }
    for (path, text) in [
        (
            ".gitignore",
            "\u{feff}target/\n*.log\n!keep.log\n[\n/only-top\n!.shown\n# comment\n",
        ),
        (".ignore", "secret\n!allowed.log\n"),
        ("sub/.gitignore", "!*.log\nown\nx/**/z\n"),
        ("sub/.ignore", "last.log\n"),
        ("repo/.git/info/exclude", "excluded\n"),
        ("repo/.gitignore", "in-repo\n"),
        ("worktree/.git", "gitdir: ROOT/repo/.git/worktrees/w\n"),
        ("repo/.git/worktrees/w/commondir", "../..\n"),
    ] {
        write(&root, path, &text.replace("ROOT", root.to_str().unwrap()));
    }
    for within in ["", "sub/", "sub/x/y/", "repo/", "repo/deep/", "worktree/"] {
        for name in [
            "above.txt",
            "git-above.txt",
            "a.outer",
            "anchored",
            "target/x",
            "a.log",
            "keep.log",
            "only-top",
            ".shown/a",
            ".hidden/a",
            "secret",
            "allowed.log",
            "own",
            "z",
            "last.log",
            "excluded",
            "in-repo",
            "plain",
        ] {
            write(&root, &format!("{within}{name}"), "");
        }
    }
    let check = |root: &Path| {
        let mut expected: Vec<String> = WalkBuilder::new(root)
            .require_git(false)
            .build()
            .skip(1)
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap();
                let slash = if entry.path().is_dir() { "/" } else { "" };
                format!("{path}{slash}")
            })
            .collect();
        let mut found = names(&list(root));
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
        found.len()
    };
    let all = check(&root);
    assert!(check(outer) > all);
    assert!(check(&root.join("repo")) > 10);
    assert!(check(&root.join("worktree")) > 5);
    assert!(check(&root.join("sub/x")) > 10);
}

#[test]
fn ignore_files_that_are_not_regular_files_are_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("project");
    for path in ["sub/a.log", "repo/.git/HEAD", "repo/b", "worktree/c"] {
        write(&root, path, "");
    }
    write(&root, "worktree/.git", "gitdir: ../repo/.git\n");
    for path in [
        "../.ignore",
        ".gitignore",
        ".ignore",
        "sub/.gitignore",
        "repo/.git/info",
        "repo/.git/commondir",
        "sub/.git",
    ] {
        let made = Command::new("mkfifo").arg(root.join(path)).status();
        assert!(made.unwrap().success());
    }
    std::os::unix::fs::symlink("/dev/zero", root.join("sub/.ignore")).unwrap();
    let (done, listed) = mpsc::channel();
    std::thread::spawn(move || {
        let found = [names(&list_near(&root)), names(&list(&root))];
        done.send(found).unwrap();
    });
    let expected = [
        "repo/",
        "repo/b",
        "sub/",
        "sub/a.log",
        "worktree/",
        "worktree/c",
    ];
    let found = listed.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(found, [expected, expected]);
}

#[test]
fn large_ignore_files_count_as_missing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "a/.gitignore", "x\n");
    write(root, "a/x", "");
    write(
        root,
        "b/.gitignore",
        &format!("x\n#{}\n", "-".repeat(300_000)),
    );
    write(root, "b/x", "");
    assert_eq!(names(&list(root)), ["a/", "b/", "b/x"]);
}
