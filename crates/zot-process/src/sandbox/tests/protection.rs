//! Protected files that are not where they usually are, or do not stay where they were.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use super::{fixtures, run, run_while, with_namespaces, workspace};
use crate::launch::FileAccess;
use crate::sandbox::secrets::Secrets;
use crate::sandbox::{Access, Refusal, Rules, Sandbox, Surroundings};

#[test]
fn a_protected_file_that_is_replaced_outside_is_reported() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    let config = root.join(".git/config");
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(&config, "old\n").unwrap();
    let sandbox = fixture.sandbox(workspace());
    let script = "touch started; while [ ! -e go ]; do sleep 0.01; done; echo evil >> .git/config";
    // As git and most editors do it, and in place.
    for (is_replaced, expected) in [(true, vec![config.clone()]), (false, Vec::new())] {
        let (_, _, run) = run_while(&sandbox, &root, script, |_| {
            while !root.join("started").exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            if is_replaced {
                fs::write(root.join(".git/config.lock"), "new\n").unwrap();
                fs::rename(root.join(".git/config.lock"), &config).unwrap();
            } else {
                fs::write(&config, "new\n").unwrap();
            }
            fs::write(root.join("go"), "").unwrap();
        });
        assert_eq!(sandbox.obstacles(&run).changed_files, expected);
        for name in ["started", "go"] {
            fs::remove_file(root.join(name)).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(&config).unwrap(), "new\n");
}

#[test]
fn a_repository_elsewhere_in_the_workspace_is_protected() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    fs::create_dir_all(root.join("repository/hooks")).unwrap();
    fs::create_dir(root.join(".husky")).unwrap();
    let config = "[core]\nhooksPath = .husky\n[include]\npath = ../shared\n";
    fs::write(root.join("repository/config"), config).unwrap();
    fs::write(root.join("shared"), "").unwrap();
    let named = || fs::write(root.join(".git"), "gitdir: ./repository\n").unwrap();
    let linked = || symlink("repository", root.join(".git")).unwrap();
    for make in [&named as &dyn Fn(), &linked] {
        make();
        for path in [
            "repository/config",
            "repository/hooks/x",
            ".husky/x",
            "shared",
        ] {
            fixture.fails(workspace(), &format!("echo x >> {path}"));
        }
        fixture.succeeds(workspace(), "echo x > repository/HEAD && echo x > .git_");
        let mut policy = workspace();
        policy.rules.write.push(".husky".into());
        fixture.succeeds(policy, "echo x > .husky/x");
        fs::remove_file(root.join(".git")).unwrap();
    }
}

#[test]
fn a_repository_that_a_rule_names_can_be_written() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    let main = fixture.home.path().join("main/.git");
    fs::create_dir_all(main.join("worktrees/one")).unwrap();
    fs::write(main.join("worktrees/one/commondir"), "../..\n").unwrap();
    let text = format!("gitdir: {}\n", main.join("worktrees/one").display());
    fs::write(root.join(".git"), text).unwrap();
    let script = format!("echo x > {}/worktrees/one/index", main.display());
    fixture.fails(workspace(), &script);
    let mut policy = workspace();
    policy.rules.write.push(main);
    fixture.succeeds(policy, &script);
}

#[test]
fn where_a_link_leads_is_protected_from_exact_rules_too() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace().canonicalize().unwrap();
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir(root.join("githooks")).unwrap();
    symlink("../githooks", root.join(".git/hooks")).unwrap();
    let access = FileAccess {
        write: vec![root.clone()],
        ..FileAccess::default()
    };
    let surroundings = Surroundings {
        workspace: root.clone(),
        home: Some(fixture.home.path().to_owned()),
        scratch: fixture.scratch.path().to_owned(),
        ..Surroundings::default()
    };
    let sandbox = Sandbox::exact(access, Rules::default(), surroundings).unwrap();
    let (code, text, _) = run(&sandbox, &root, "echo x > ordinary");
    assert_eq!(code, 0, "{text}");
    let (code, _, _) = run(&sandbox, &root, "echo x > githooks/pre-commit");
    assert_ne!(code, 0);
}

#[test]
fn no_program_with_the_rights_of_its_owner_is_left_behind() {
    for fixture in fixtures() {
        fixture.succeeds(workspace(), "cp /bin/true plain; : > made");
        for mode in ["4755", "2755", "6755", "u+s", "g+s"] {
            let script = format!("cp /bin/true sid; chmod {mode} sid");
            fixture.fails(workspace(), &script);
        }
        let create = "python3 -c \"import os; os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755)\"";
        fixture.fails(workspace(), create);
        for entry in fs::read_dir(fixture.workspace()).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o6000, 0);
        }
    }
}

#[test]
fn what_not_everybody_may_read_is_hidden() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    for path in Secrets::of_system().paths() {
        let path = path.display();
        let script =
            format!("[ ! -f '{path}' ] && [ -z \"$(ls -A '{path}' 2>&1 | grep -vx '{path}')\" ]");
        fixture.succeeds(workspace(), &script);
    }
    fixture.succeeds(workspace(), "grep -q root /etc/passwd");
}

#[test]
fn links_on_the_way_to_a_protected_file_and_what_is_not_there_yet_are_protected() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        fs::create_dir_all(root.join("real/editor")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        // A link through another one, one that leads to nothing, a chain, and a circle.
        symlink("real", root.join("link")).unwrap();
        symlink("link/editor", root.join(".vscode")).unwrap();
        symlink("../githooks", root.join(".git/hooks")).unwrap();
        symlink("one", root.join(".envrc")).unwrap();
        symlink("two", root.join("one")).unwrap();
        fs::write(root.join("two"), "").unwrap();
        symlink(".jj", root.join(".jj")).unwrap();
        // It must not make everything read-only.
        symlink("..", root.join(".claude")).unwrap();
        let sandbox = fixture.sandbox(workspace());
        let script = "rm -f link one; mkdir -p link/editor githooks; \
                      echo evil > link/editor/tasks.json; echo evil > githooks/pre-commit; \
                      echo evil > one; echo fine > ordinary";
        let (code, text, run) = run(&sandbox, &root, script);
        assert_eq!(code, 0, "{text}");
        for path in [".vscode/tasks.json", ".git/hooks/pre-commit", ".envrc"] {
            let found = fs::read_to_string(root.join(path)).unwrap_or_default();
            assert_eq!(found, "", "{path}");
        }
        assert!(root.join("ordinary").exists());
        let withheld = sandbox.obstacles(&run).withheld_files;
        let withheld: Vec<_> = withheld.into_iter().map(|(path, _)| path).collect();
        for name in ["link", "one", "githooks"] {
            let path = root.canonicalize().unwrap().join(name);
            assert!(withheld.contains(&path), "{name}: {withheld:?}");
        }
        // The file tools obey the same list.
        let layout = sandbox.layout().unwrap();
        let root = root.canonicalize().unwrap();
        let admitted = layout.admit(&root.join("githooks/x"), Access::Write, true);
        assert_eq!(admitted, Err(Refusal::Protected));
        assert!(layout.admit(&root.join("x"), Access::Write, true).is_ok());
    }
}

#[test]
fn what_the_user_changes_meanwhile_is_protected_from_the_next_command_on() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace().canonicalize().unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".git/config"), "").unwrap();
    let sandbox = fixture.sandbox(workspace());
    let plant = |directory: &str| {
        let script = format!("mkdir -p {directory} && echo evil > {directory}/pre-commit");
        run(&sandbox, &root, &script);
        root.join(directory).join("pre-commit").exists()
    };
    assert!(plant("first"));
    fs::write(root.join(".git/config"), "[core]\nhooksPath = second\n").unwrap();
    assert!(!plant("second"));
    fs::write(
        fixture.home.path().join(".gitconfig"),
        "[core]\nhooksPath = third\n",
    )
    .unwrap();
    // File tools look at it now and then.
    std::thread::sleep(Duration::from_millis(150));
    let layout = sandbox.layout().unwrap();
    let admitted = layout.admit(&root.join("third/x"), Access::Write, true);
    assert_eq!(admitted, Err(Refusal::Protected));
    assert!(!plant("third"));
    assert!(plant("fourth"));
}

#[test]
fn a_long_name_is_withheld_too() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    let name = "h".repeat(250);
    fs::create_dir(root.join(".git")).unwrap();
    let config = format!("[core]\nhooksPath = {name}\n");
    fs::write(root.join(".git/config"), config).unwrap();
    let sandbox = fixture.sandbox(workspace());
    let (code, text, run) = run(&sandbox, &root, &format!("mkdir {name}"));
    assert_eq!(code, 0, "{text}");
    assert!(!root.join(&name).exists());
    assert_eq!(sandbox.obstacles(&run).withheld_files.len(), 1);
}

#[test]
fn a_repository_without_a_working_tree_is_protected() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fixture.fails(workspace(), "echo evil > hooks/pre-receive");
    fixture.succeeds(workspace(), "echo 'ref: refs/heads/other' > HEAD");
    // It is the same as the repository of a project that a rule names.
    let mut policy = workspace();
    policy.rules.write.push(root.clone());
    fixture.succeeds(policy, "echo x > hooks/pre-receive");
}
