//! What the file tools do at the levels of a sandbox, as a model sees it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};
use zot_process::sandbox::{Level, Policy, Rules};

use crate::sandbox::ToolSandbox;
use crate::test_support::{Workspace, directory_outside};

/// Returns workspaces with all means of the system, and without namespaces: the file tools obey the same
/// rules in both.
fn at(policy: &Policy) -> [Workspace; 2] {
    let workspaces = [
        Workspace::recorded(),
        Workspace::recorded_with(ToolSandbox::without_namespaces),
    ];
    for workspace in &workspaces {
        workspace.apply(policy.clone());
    }
    workspaces
}

async fn done(workspace: &Workspace, tool: &str, arguments: Value) -> String {
    let output = workspace.call(tool, arguments.clone()).await;
    let text = output.joined_text();
    assert!(!output.is_error, "{tool} {arguments}: {text}");
    text
}

async fn refused(workspace: &Workspace, tool: &str, arguments: Value) -> String {
    let output = workspace.call(tool, arguments.clone()).await;
    let text = output.joined_text();
    assert!(output.is_error, "{tool} {arguments}: {text}");
    text
}

fn edit(path: impl AsRef<Path>, old: &str, new: &str) -> Value {
    json!({"path": path.as_ref(), "edits": [{"oldText": old, "newText": new}]})
}

#[tokio::test]
async fn workspace_reads_the_system_and_writes_the_working_directory() {
    let outside = directory_outside();
    let secret = outside.path().canonicalize().unwrap().join("secret");
    fs::write(&secret, "secret").unwrap();
    for workspace in at(&Policy::at(Level::Workspace)) {
        done(&workspace, "read", json!({"path": "/etc/passwd"})).await;
        done(
            &workspace,
            "write",
            json!({"path": "new/file", "content": "x"}),
        )
        .await;
        done(&workspace, "edit", edit("a.txt", "one", "1")).await;
        let text = refused(
            &workspace,
            "write",
            json!({"path": "/etc/zot-test", "content": "x"}),
        )
        .await;
        assert!(
            text.contains("/etc/zot-test is read-only in the sandbox (level workspace"),
            "{text}"
        );
        assert!(
            // A rule can only name what exists.
            text.ends_with(
                "only the user can allow this, with --sandbox-write /etc (zot --continue --sandbox workspace \
                 --sandbox-write /etc)"
            ),
            "{text}"
        );
        // No rule for a directory that does not exist either.
        let path = secret.with_file_name("none").join("new");
        let text = refused(&workspace, "read", json!({"path": path})).await;
        assert!(
            text.ends_with("with --sandbox-read and a directory that exists"),
            "{text}"
        );
        let text = refused(&workspace, "read", json!({"path": secret})).await;
        assert!(
            text.contains("is outside of the sandbox (level workspace"),
            "{text}"
        );
        assert!(
            text.contains(&format!("--sandbox-read {}", secret.display())),
            "{text}"
        );
        refused(&workspace, "edit", edit(&secret, "secret", "x")).await;
    }
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

#[tokio::test]
async fn read_only_reads_the_working_directory_and_writes_temporary_files() {
    for workspace in at(&Policy::at(Level::ReadOnly)) {
        done(&workspace, "read", json!({"path": "a.txt"})).await;
        let text = refused(&workspace, "write", json!({"path": "new", "content": "x"})).await;
        assert!(
            text.contains("new is read-only in the sandbox (level read-only"),
            "{text}"
        );
        refused(&workspace, "edit", edit("a.txt", "one", "1")).await;
        assert!(!workspace.path("new").exists());
        let (real, shown) = workspace.sandbox.sandbox().unwrap().temporary();
        done(
            &workspace,
            "write",
            json!({"path": shown.join("x/y"), "content": "x"}),
        )
        .await;
        assert_eq!(fs::read(real.join("x/y")).unwrap(), b"x");
    }
}

#[tokio::test]
async fn the_home_directory_is_that_of_commands() {
    let home = directory_outside();
    let home = home.path().canonicalize().unwrap();
    fs::write(home.join("notes"), "private").unwrap();
    for without_namespaces in [false, true] {
        let directory = directory_outside();
        let sandbox = ToolSandbox::new(directory.path(), Some(home.clone()));
        let sandbox = match without_namespaces {
            true => sandbox.without_namespaces(),
            false => sandbox,
        };
        sandbox.set_policy(Policy::at(Level::Workspace)).unwrap();
        let workspace = Workspace::around(directory, Some(home.clone()), sandbox);
        let text = refused(&workspace, "read", json!({"path": "~/notes"})).await;
        let notes = home.join("notes");
        let expected = match workspace.has_view() {
            true => format!(
                "{} is not in the sandbox, where {} is a directory of its own; only the user can allow \
                 the file outside, with --sandbox-read {} (zot --continue, with this flag added)",
                notes.display(),
                home.display(),
                notes.display()
            ),
            false => "no such file or directory".to_owned(),
        };
        assert!(text.ends_with(&expected), "{text}");
        let text = done(
            &workspace,
            "write",
            json!({"path": "~/made", "content": "by write"}),
        )
        .await;
        let shown = workspace.sandbox.sandbox().unwrap().home().unwrap();
        let fate = format!(
            "[sandbox] {}/made is in the sandbox's own home directory: it is removed when zot ends, and is \
             not a file of the user",
            shown.display()
        );
        assert_eq!(text, format!("by write\n{fate}"));
        let text = done(&workspace, "edit", edit("~/made", "by", "by a")).await;
        assert!(text.ends_with(&format!("\n{fate}")), "{text}");
        done(&workspace, "edit", edit("~/made", "by a", "by")).await;
        let path = workspace.sandbox.sandbox().unwrap().temporary().1.join("x");
        let text = done(&workspace, "write", json!({"path": path, "content": "x"})).await;
        assert!(
            text.contains("the sandbox's own temporary directory"),
            "{text}"
        );
        let text = done(&workspace, "write", json!({"path": "x", "content": "x"})).await;
        assert_eq!(text, "x");
        let text = done(
            &workspace,
            "bash",
            json!({"command": "cat ~/made; echo by bash > ~/back"}),
        )
        .await;
        assert!(text.contains("by write"), "{text}");
        let text = done(&workspace, "read", json!({"path": "~/back"})).await;
        assert_eq!(text, "by bash\n");
        let mut names = fs::read_dir(&home).unwrap();
        assert_eq!(names.next().unwrap().unwrap().file_name(), "notes");
        assert!(names.next().is_none());
    }
}

#[tokio::test]
async fn a_home_that_is_the_working_directory_is_the_users_own() {
    let directory = directory_outside();
    let home = directory.path().canonicalize().unwrap();
    let sandbox = ToolSandbox::new(&home, Some(home.clone()));
    sandbox.set_policy(Policy::at(Level::Workspace)).unwrap();
    let workspace = Workspace::around(directory, Some(home.clone()), sandbox);
    let is_own = workspace.sandbox.sandbox().unwrap().home() == Some(home.clone());
    let text = done(&workspace, "write", json!({"path": "~/x", "content": "x"})).await;
    assert_eq!(text == "x", is_own, "{text}");
    assert_eq!(home.join("x").exists(), is_own);
}

#[tokio::test]
async fn in_a_jail_the_directories_of_the_sandbox_are_not_used() {
    let home = directory_outside();
    let home = home.path().canonicalize().unwrap();
    for without_namespaces in [false, true] {
        let directory = directory_outside();
        let sandbox = ToolSandbox::new(directory.path(), Some(home.clone()));
        let sandbox = match without_namespaces {
            true => sandbox.without_namespaces(),
            false => sandbox,
        };
        sandbox.set_policy(Policy::jail()).unwrap();
        let workspace = Workspace::around(directory, Some(home.clone()), sandbox);
        let (real, shown) = workspace.sandbox.sandbox().unwrap().temporary();
        fs::write(real.join("file"), "x").unwrap();
        for (tool, arguments) in [
            ("read", json!({"path": shown.join("file")})),
            ("write", json!({"path": shown.join("file"), "content": "y"})),
            ("edit", edit(shown.join("file"), "x", "y")),
            (
                "write",
                json!({"path": shown.join("zot-bash-1.log"), "content": "y"}),
            ),
            ("write", json!({"path": "~/new", "content": "y"})),
            ("read", json!({"path": "~/zot-bash-1.log"})),
        ] {
            let text = refused(&workspace, tool, arguments).await;
            assert!(
                text.contains("is outside of the directory zot is confined to"),
                "{text}"
            );
        }
        assert_eq!(fs::read(real.join("file")).unwrap(), b"x");
    }
}

#[tokio::test]
async fn advice_names_where_links_lead_and_no_rule_that_has_no_effect() {
    let home = directory_outside();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id"), "key").unwrap();
    let directory = directory_outside();
    fs::create_dir(directory.path().join("zot")).unwrap();
    fs::write(directory.path().join("zot/auth.json"), "key").unwrap();
    let sandbox = ToolSandbox::new(directory.path(), Some(home.clone()))
        .hidden(vec![directory.path().join("zot")]);
    sandbox.set_policy(Policy::at(Level::Workspace)).unwrap();
    let workspace = Workspace::around(directory, Some(home.clone()), sandbox);
    if !workspace.has_view() {
        return;
    }
    symlink(home.join(".ssh"), workspace.path("link")).unwrap();
    let text = refused(&workspace, "read", json!({"path": "link/id"})).await;
    let advice = format!(
        "with --sandbox-read {}/.ssh/id (zot --continue",
        home.display()
    );
    assert!(text.contains(&advice), "{text}");
    for path in ["/etc/shadow", "zot/auth.json"] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("write", json!({"path": path, "content": "x"})),
        ] {
            let text = refused(&workspace, tool, arguments).await;
            assert!(
                text.ends_with(
                    "cannot be used in the sandbox: it holds secrets, and no rule shows it"
                ),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn protected_files_are_not_written_under_any_name() {
    for workspace in at(&Policy::at(Level::Workspace)) {
        fs::create_dir_all(workspace.path(".git/hooks")).unwrap();
        fs::create_dir_all(workspace.path("settings")).unwrap();
        fs::write(workspace.path(".git/config"), "[core]").unwrap();
        fs::write(workspace.path(".git/hooks/sample"), "#!").unwrap();
        symlink(".git/config", workspace.path("by-link")).unwrap();
        symlink(".git", workspace.path("git")).unwrap();
        symlink("settings", workspace.path(".vscode")).unwrap();
        fs::hard_link(workspace.path(".git/config"), workspace.path("by-name")).unwrap();
        fs::hard_link(workspace.path(".git/hooks/sample"), workspace.path("hook")).unwrap();
        workspace.apply(Policy::at(Level::Workspace));
        for path in [
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/hooks/deep/er",
            "sub/../.git/config",
            ".zot/settings.json",
            ".mcp.json",
            ".bashrc",
            "by-link",
            "git/config",
            ".vscode/tasks.json",
            "by-name",
            "hook",
        ] {
            let text = refused(&workspace, "write", json!({"path": path, "content": "x"})).await;
            assert!(text.contains("protected"), "{path}: {text}");
            assert!(
                text.contains("only the user can allow this, with --sandbox-write "),
                "{text}"
            );
            assert!(text.contains("zot --continue"), "{text}");
        }
        let text = refused(&workspace, "edit", edit("by-name", "core", "x")).await;
        let config = workspace.path(".git/config");
        assert!(
            text.contains(&format!("another name of {}", config.display())),
            "{text}"
        );
        assert_eq!(fs::read(config).unwrap(), b"[core]");
        done(&workspace, "read", json!({"path": ".git/config"})).await;
        done(
            &workspace,
            "write",
            json!({"path": ".git/HEAD", "content": "x"}),
        )
        .await;

        // What the user names is free.
        let rules = Rules {
            write: vec![".git/config".into()],
            ..Rules::default()
        };
        workspace.apply(Policy {
            rules,
            ..Policy::at(Level::Workspace)
        });
        done(
            &workspace,
            "write",
            json!({"path": ".git/config", "content": "new"}),
        )
        .await;
        refused(
            &workspace,
            "write",
            json!({"path": ".git/hooks/x", "content": "x"}),
        )
        .await;
    }
}

#[tokio::test]
async fn a_file_with_a_name_outside_is_replaced_not_changed() {
    let outside = directory_outside();
    for (index, workspace) in at(&Policy::at(Level::Workspace)).into_iter().enumerate() {
        let theirs = outside.path().join(index.to_string());
        fs::write(&theirs, "theirs").unwrap();
        // Hard links need one file system.
        if fs::hard_link(&theirs, workspace.path("ours")).is_err() {
            fs::rename(workspace.path("a.txt"), workspace.path("ours")).unwrap();
            fs::hard_link(workspace.path("ours"), workspace.path("theirs")).unwrap();
        }
        done(
            &workspace,
            "write",
            json!({"path": "ours", "content": "new"}),
        )
        .await;
        assert_eq!(workspace.content("ours"), b"new");
        assert_eq!(fs::metadata(workspace.path("ours")).unwrap().nlink(), 1);
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    }
}

#[tokio::test]
async fn a_single_file_is_changed_in_place_and_nothing_beside_it() {
    let outside = directory_outside();
    let outside = outside.path().canonicalize().unwrap();
    let (allowed, other) = (outside.join("allowed"), outside.join("other"));
    for path in [&allowed, &other] {
        fs::write(path, "old").unwrap();
    }
    let inode = fs::metadata(&allowed).unwrap().ino();
    let rules = Rules {
        write: vec![allowed.clone()],
        ..Rules::default()
    };
    for workspace in at(&Policy {
        rules,
        ..Policy::at(Level::Workspace)
    }) {
        done(
            &workspace,
            "write",
            json!({"path": allowed, "content": "new"}),
        )
        .await;
        done(&workspace, "edit", edit(&allowed, "new", "old")).await;
        for path in [&other, &outside.join("fresh")] {
            refused(&workspace, "write", json!({"path": path, "content": "x"})).await;
        }
    }
    assert_eq!(
        fs::metadata(&allowed).unwrap().ino(),
        inode,
        "nothing was made beside it"
    );
    assert_eq!(fs::read(&other).unwrap(), b"old");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
}

#[tokio::test]
async fn the_kernels_files_are_refused() {
    for workspace in at(&Policy::at(Level::Workspace)) {
        symlink("/proc/self/environ", workspace.path("environment")).unwrap();
        symlink("/proc/self/fd/0", workspace.path("input")).unwrap();
        symlink("/proc/self/root/etc/passwd", workspace.path("users")).unwrap();
        let own = format!("/proc/{}/environ", std::process::id());
        for path in [
            "/proc/self/environ",
            "/proc/thread-self/environ",
            "/proc/self/status",
            "/proc/self/mem",
            "/proc/self/maps",
            "/proc/self/cwd/a.txt",
            "/proc/1/environ",
            "/proc/cpuinfo",
            "/proc/self/root/etc/passwd",
            "/dev/fd/0",
            "/dev/stdin",
            "/dev/null",
            "/sys/kernel/uevent_seqnum",
            "environment",
            "input",
            "users",
            &own,
        ] {
            let text = refused(&workspace, "read", json!({ "path": path })).await;
            assert!(text.contains("outside of the sandbox"), "{path}: {text}");
        }
    }
}

#[tokio::test]
async fn keys_in_environments_are_refused_at_every_level() {
    let workspace = Workspace::recorded();
    symlink("/proc/self", workspace.path("self")).unwrap();
    let everything = Rules {
        read: vec!["/proc".into()],
        ..Rules::default()
    };
    let own = format!("/proc/{}", std::process::id());
    let parent = format!("/proc/{}", std::os::unix::process::parent_id());
    let is_secret = "holds the keys of a running program, so it is not read";
    for (path, is_plain) in [
        ("/proc/self/environ".to_owned(), true),
        ("/proc/thread-self/environ".to_owned(), true),
        ("self/environ".to_owned(), true),
        (format!("{own}/environ"), false),
        (format!("{own}/task/{}/environ", std::process::id()), false),
        (format!("{own}/mem"), false),
        (format!("{parent}/environ"), false),
    ] {
        workspace.apply(Policy::default());
        let text = refused(&workspace, "read", json!({ "path": path })).await;
        assert!(text.ends_with(is_secret), "{path}: {text}");
        workspace.apply(Policy {
            rules: everything.clone(),
            ..Policy::at(Level::Workspace)
        });
        let text = refused(&workspace, "read", json!({ "path": path })).await;
        assert!(is_plain || text.ends_with(is_secret), "{path}: {text}");
    }
    workspace.apply(Policy::default());
    let text = done(&workspace, "read", json!({"path": "/proc/self/status"})).await;
    assert!(text.contains("Name:"), "{text}");
}

#[tokio::test]
async fn edits_keep_mode_owner_and_attributes() {
    for workspace in at(&Policy::at(Level::Workspace)) {
        let path = workspace.path("a.txt");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4750)).unwrap();
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o4750)).unwrap();
        }
        let flags = rustix::fs::XattrFlags::empty();
        let has_attributes = rustix::fs::setxattr(&path, "user.zot", b"kept", flags).is_ok();
        let before = fs::metadata(&path).unwrap();
        done(&workspace, "edit", edit("a.txt", "one", "1")).await;
        let after = fs::metadata(&path).unwrap();
        assert_ne!(after.ino(), before.ino(), "replaced at once");
        assert_eq!(after.mode() & 0o7777, 0o750, "not set-user-ID");
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        if has_attributes {
            let mut value = [0; 16];
            let length = rustix::fs::getxattr(&path, "user.zot", &mut value).unwrap();
            assert_eq!(&value[..length], b"kept");
        }
    }
}

#[test]
fn nothing_is_made_before_it_is_needed() {
    let sandbox = ToolSandbox::new("/usr", None);
    sandbox.set_policy(Policy::at(Level::Workspace)).unwrap();
    assert!(sandbox.state().scratch.is_none());
    sandbox.sandbox().unwrap();
    assert!(sandbox.state().scratch.is_some());
    sandbox.set_policy(Policy::default()).unwrap();
    let off = ToolSandbox::new("/usr", None);
    off.sandbox().unwrap();
    assert!(off.state().scratch.is_none() && off.state().confined.is_none());
}
