use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::{MAX_INSTRUCTIONS_BYTES, MAX_INSTRUCTIONS_FILE_BYTES, find_instructions};

struct Tree {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

/// Files below a directory that holds a repository called `repo`.
fn tree(files: &[(&str, &str)]) -> Tree {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("repo/.git")).unwrap();
    fs::create_dir_all(root.join("repo/a/b")).unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Tree {
        root,
        _directory: directory,
    }
}

fn shown(cwd: &Path) -> Vec<(String, String)> {
    let found = find_instructions(cwd);
    assert_eq!(problems(cwd), Vec::<String>::new());
    found
        .files
        .into_iter()
        .map(|file| (file.shown, file.text))
        .collect()
}

fn problems(cwd: &Path) -> Vec<String> {
    let found = find_instructions(cwd);
    found.problems.iter().map(ToString::to_string).collect()
}

fn pair(shown: &str, text: &str) -> (String, String) {
    (shown.to_owned(), text.to_owned())
}

#[test]
fn the_nearest_comes_first_and_the_repository_is_the_end() {
    let tree = tree(&[
        ("AGENTS.md", "outside"),
        ("repo/AGENTS.md", "root"),
        ("repo/CLAUDE.md", "root, too"),
        ("repo/.zot/instructions.md", "root of zot"),
        ("repo/a/b/CLAUDE.md", "near"),
        ("repo/a/AGENTS.md", "\n \n"),
    ]);
    assert_eq!(
        shown(&tree.root.join("repo/a/b")),
        [
            pair("CLAUDE.md", "near"),
            pair("../../AGENTS.md", "root"),
            pair("../../CLAUDE.md", "root, too"),
            pair("../../.zot/instructions.md", "root of zot"),
        ]
    );
}

#[test]
fn outside_a_repository_only_the_directory_itself_counts() {
    let tree = tree(&[("AGENTS.md", "above"), ("plain/AGENTS.md", "here")]);
    assert_eq!(shown(&tree.root.join("plain")), [pair("AGENTS.md", "here")]);
}

#[test]
fn a_link_to_a_directory_of_a_repository_is_in_it() {
    let tree = tree(&[("repo/AGENTS.md", "root"), ("AGENTS.md", "beside the link")]);
    symlink("repo/a", tree.root.join("link")).unwrap();
    assert_eq!(
        shown(&tree.root.join("link")),
        [pair("../AGENTS.md", "root")]
    );
}

/// A worktree and a submodule have a file of that name.
#[test]
fn the_repository_may_be_marked_by_a_file() {
    let tree = tree(&[
        ("work/.git", "gitdir: elsewhere"),
        ("work/AGENTS.md", "root"),
        ("work/sub/x", ""),
    ]);
    assert_eq!(
        shown(&tree.root.join("work/sub")),
        [pair("../AGENTS.md", "root")]
    );
}

#[test]
fn one_text_is_said_once() {
    let tree = tree(&[("repo/AGENTS.md", "root"), ("repo/a/AGENTS.md", "root")]);
    symlink("AGENTS.md", tree.root.join("repo/CLAUDE.md")).unwrap();
    assert_eq!(shown(&tree.root.join("repo")), [pair("AGENTS.md", "root")]);
    assert_eq!(
        shown(&tree.root.join("repo/a")),
        [pair("AGENTS.md", "root")]
    );
}

#[test]
fn what_cannot_be_used_is_named_and_the_rest_is_read() {
    let tree = tree(&[("secret", "key"), ("repo/.zot/instructions.md", "good")]);
    let repo = tree.root.join("repo");
    symlink("../secret", repo.join("AGENTS.md")).unwrap();
    symlink("nowhere", repo.join("CLAUDE.md")).unwrap();
    let found = find_instructions(&repo);
    assert_eq!(found.files.len(), 1);
    let problems = problems(&repo);
    assert!(problems[0].contains("AGENTS.md: is a link that leads out of"));
    assert!(problems[1].contains("CLAUDE.md: cannot be read: the link leads nowhere"));

    fs::remove_file(repo.join("AGENTS.md")).unwrap();
    fs::remove_file(repo.join("CLAUDE.md")).unwrap();
    fs::create_dir(repo.join("AGENTS.md")).unwrap();
    fs::write(repo.join("CLAUDE.md"), b"\xff\xfe").unwrap();
    let problems = self::problems(&repo);
    assert!(problems[0].contains("AGENTS.md: is a directory, expected a regular file"));
    assert!(problems[1].contains("CLAUDE.md: is not UTF-8"));
}

#[test]
fn an_unreadable_file_is_a_warning() {
    let tree = tree(&[("repo/AGENTS.md", "secret")]);
    let path = tree.root.join("repo/AGENTS.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    if fs::read(&path).is_ok() {
        return;
    }
    assert!(problems(&tree.root.join("repo"))[0].contains("cannot be read"));
}

#[test]
fn lengths_are_limited_and_a_cut_is_marked() {
    let long = "é".repeat(MAX_INSTRUCTIONS_FILE_BYTES);
    let other = "x".repeat(MAX_INSTRUCTIONS_FILE_BYTES);
    let third = "y".repeat(MAX_INSTRUCTIONS_FILE_BYTES);
    let tree = tree(&[
        ("repo/AGENTS.md", &long),
        ("repo/CLAUDE.md", &other[1_000..]),
        ("repo/.zot/instructions.md", &third),
    ]);
    let repo = tree.root.join("repo");
    let found = find_instructions(&repo);
    let [first, second] = found.files.as_slice() else {
        panic!("{:?}", found.problems);
    };
    assert!(
        first
            .text
            .contains("é\n[cut here: the file has 65536 bytes")
    );
    assert_eq!(second.text.len(), MAX_INSTRUCTIONS_FILE_BYTES - 1_000);
    assert!(first.text.len() + second.text.len() <= MAX_INSTRUCTIONS_BYTES);
    let problems = problems(&repo);
    assert!(problems[0].contains("AGENTS.md: only the first 32768 of its 65536"));
    assert!(problems[1].contains("instructions.md: left out"));
}
