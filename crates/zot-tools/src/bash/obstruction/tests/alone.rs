//! What is said without namespaces.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use zot_process::sandbox::{Level, Obstacles, Policy};

use super::{Obstruction, Said, explained, found, walls};
use crate::sandbox::{Allowance, ToolSandbox, Walls};
use crate::test_support::{Workspace, directory_outside};

const WITHOUT: &str = "[sandbox workspace] this system denies namespaces (the user can see why with `zot doctor`), \
                       and without them ";

fn alone() -> (Workspace, Walls) {
    let workspace = Workspace::recorded_with(ToolSandbox::without_namespaces);
    let walls = walls(&workspace, Level::Workspace);
    (workspace, walls)
}

#[test]
fn a_program_that_was_compiled_cannot_be_run() {
    let (workspace, walls) = alone();
    fs::write(workspace.path("a.out"), "").unwrap();
    let mut mode = fs::metadata(workspace.path("a.out")).unwrap().permissions();
    mode.set_mode(0o644);
    fs::set_permissions(workspace.path("a.out"), mode).unwrap();
    for output in [
        "/bin/sh: 1: ./a.out: Permission denied",
        "make: ./a.out: Permission denied\nmake: *** [Makefile:2: run] Error 127",
    ] {
        let text = explained(&workspace, &walls, output);
        assert!(text.contains(WITHOUT), "{text}");
        assert!(
            text.contains("programs which were compiled here cannot be run"),
            "{text}"
        );
        assert!(text.contains("/a.out is not executable"), "{text}");
        assert!(!text.contains("--sandbox-"), "no option helps: {text}");
    }
    // Its path is not known, and there are other reasons.
    let text = explained(
        &workspace,
        &walls,
        "could not execute process `build`\nCaused by:\n  Permission denied (os error 13)",
    );
    assert!(
        text.contains("programs that were compiled here cannot be run"),
        "{text}"
    );
    assert!(!text.contains("--sandbox-connect"), "{text}");
}

#[test]
fn modes_cannot_be_changed_and_no_host_can_be_allowed() {
    let (workspace, walls) = alone();
    for (output, expected) in [
        (
            "chmod: changing permissions of 'a.txt': Operation not permitted",
            "modes, owners and times of files cannot be changed",
        ),
        (
            "Error: Command '['/x/bin/python3', '-m', 'ensurepip', '--upgrade']' returned non-zero exit status 1.",
            "modes, owners and times of files cannot be changed",
        ),
        (
            "curl: (6) Could not resolve host: example.com",
            "no single host can be allowed",
        ),
        (
            "curl: (7) Failed to connect to localhost port 8099 after 0 ms: Couldn't connect to server",
            "there is no network, not even localhost",
        ),
        (
            "ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
            "no single host can be allowed",
        ),
        ("npm error code EAI_AGAIN", "no single host can be allowed"),
    ] {
        let text = explained(&workspace, &walls, output);
        assert!(text.contains(WITHOUT) && text.contains(expected), "{text}");
        assert!(
            !text.contains("HOST:PORT") && !text.contains(":PORT"),
            "{text}"
        );
        assert!(!text.contains("--sandbox-write"), "{text}");
        // The exit code may be that of another command.
        for (script, is_explained) in [("npm install | tail -5", true), ("cat log", false)] {
            let said = Said {
                output,
                script,
                failed: false,
            };
            let cwd = workspace.path("");
            let found = Obstruction::find(&walls, &cwd, Obstacles::default(), Some(said));
            assert_eq!(found.is_some(), is_explained, "{output} {script}");
        }
    }
}

#[test]
fn a_file_in_the_home_of_the_user_is_named_by_its_path_there() {
    let home = directory_outside();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id"), "key").unwrap();
    let directory = directory_outside();
    let sandbox = ToolSandbox::new(directory.path(), Some(home.clone())).without_namespaces();
    let workspace = Workspace::around(directory, Some(home.clone()), sandbox);
    let walls = walls(&workspace, Level::Workspace);
    let own = walls.home().unwrap().to_owned();
    let missing = |name: &str| {
        format!(
            "cat: {}: No such file or directory",
            own.join(name).display()
        )
    };
    let found_file = found(&workspace, &walls, &missing(".ssh/id")).unwrap();
    assert_eq!(found_file.allowances(), [], "the command would not find it");
    let text = found_file.explain();
    let advice = format!(
        "is refused; only the user can allow it, with --sandbox-read {}/.ssh/id, and then by this path only",
        home.display()
    );
    assert!(text.ends_with(&advice), "{text}");
    assert_eq!(found(&workspace, &walls, &missing("none")), None);

    let mut policy = Policy::at(Level::Workspace);
    Allowance::Read(home.join(".ssh/id")).add_to(&mut policy.rules);
    workspace.apply(policy);
    let walls = workspace.sandbox.walls().unwrap().unwrap();
    let text = explained(&workspace, &walls, &missing(".ssh/id"));
    let advice = format!("the file of the user is {}/.ssh/id", home.display());
    assert!(text.ends_with(&advice), "{text}");
}
