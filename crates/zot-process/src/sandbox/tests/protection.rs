//! Protected files that are not where they usually are, or do not stay where they were.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use super::{fixtures, run, run_while, with_namespaces, workspace};
use crate::launch::FileAccess;
use crate::sandbox::secrets::Secrets;
use crate::sandbox::{Rules, Sandbox, Surroundings};

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
