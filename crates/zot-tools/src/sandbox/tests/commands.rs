//! Real commands under a real kernel. Where that cannot confine them, the tests insist that they are
//! refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use testkit::{KernelFeature, skip, skip_without};
use zot_process::launch::Status;
use zot_process::sandbox::{Level, Limits, Policy, Rules, SandboxError};

use crate::sandbox::{CommandConfinement, NotConfined, ToolSandbox};
use crate::test_support::{Workspace, directory_outside};

/// Returns confined workspaces: with all means of the system, and without namespaces.
pub(super) async fn confined(policy: Policy) -> Vec<Workspace> {
    let workspaces = [
        Workspace::recorded(),
        Workspace::recorded_with(ToolSandbox::without_namespaces),
    ];
    for workspace in &workspaces {
        workspace.apply(policy.clone());
    }
    match CommandConfinement::here() {
        _ if KernelFeature::Landlock.is_hidden() => {
            skip_without(KernelFeature::Landlock, "hidden");
            Vec::new()
        }
        CommandConfinement::Impossible(reason) => {
            skip_without(KernelFeature::Landlock, &reason);
            for workspace in &workspaces {
                let output = workspace.call("bash", json!({"command": "true"})).await;
                assert!(output.is_error);
                assert!(output.joined_text().contains(&reason));
            }
            Vec::new()
        }
        _ => workspaces.into(),
    }
}

async fn jailed() -> Vec<Workspace> {
    confined(Policy::jail()).await
}

/// Runs a command; whether it succeeded, and what was shown of it.
async fn bash(workspace: &Workspace, command: &str) -> (bool, String) {
    let output = workspace.call("bash", json!({"command": command})).await;
    (!output.is_error, output.joined_text())
}

async fn succeeds(workspace: &Workspace, command: &str) -> String {
    let (success, text) = bash(workspace, command).await;
    assert!(success, "{text}");
    text
}

async fn fails(workspace: &Workspace, command: &str) -> String {
    let (success, text) = bash(workspace, command).await;
    assert!(!success, "{text}");
    text
}

#[tokio::test]
async fn commands_change_the_directory_and_nothing_else() {
    for workspace in jailed().await {
        let outside = directory_outside();
        let secret = outside.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        symlink(outside.path(), workspace.path("out")).unwrap();

        succeeds(
            &workspace,
            "mkdir new && echo x > new/file && mv new/file moved && cat a.txt && rm -r new",
        )
        .await;
        assert_eq!(workspace.content("moved"), b"x\n");
        let secret = secret.display();
        for command in [
            format!("cat {secret}"),
            format!("echo x > {secret}"),
            format!("rm {secret}"),
            "cat out/secret".to_owned(),
            "echo x > out/new".to_owned(),
            "ls out/".to_owned(),
            format!("ln -s {secret} mine && cat mine"),
        ] {
            let text = fails(&workspace, &command).await;
            let text_in_lower_case = text.to_lowercase();
            assert!(
                text_in_lower_case.contains("permission denied")
                || text_in_lower_case.contains("read-only file system")
                // Where there are namespaces, it cannot be seen at all.
                || text_in_lower_case.contains("no such file or directory")
                || text_in_lower_case.contains("directory nonexistent"),
                "{text}"
            );
            assert!(
                text.contains("only the user can lift this"),
                "the model knows why: {text}"
            );
        }
        // The directory above is one of the sandbox, or refused.
        bash(&workspace, "echo x > ../zot-jail-test").await;
        assert!(!workspace.path("../zot-jail-test").exists());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"kept");
    }
}

#[tokio::test]
async fn the_users_home_is_out_of_reach_and_another_is_given() {
    for workspace in jailed().await {
        let Some(home) = std::env::home_dir() else {
            return;
        };
        fails(&workspace, &format!("ls {}", home.display())).await;
        succeeds(&workspace, "echo x > ~/.cache-of-something && ls -a ~").await;
        assert!(!home.join(".cache-of-something").exists());
        // One that insists on its settings in the home directory. It changes modes of files, which is
        // refused without namespaces.
        if workspace.has_view() {
            succeeds(&workspace, "git init -q . && git status --short").await;
        }
    }
}

#[tokio::test]
async fn services_cannot_be_asked_for_files_and_the_network_is_there() {
    for workspace in jailed().await {
        if CommandConfinement::here() != CommandConfinement::Full {
            skip_without(
                KernelFeature::Seccomp,
                &format!("{:?}", CommandConfinement::here()),
            );
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("service");
        let _service = std::os::unix::net::UnixListener::bind(&path).unwrap();
        if !bash(&workspace, "python3 -c 1").await.0 {
            skip("there is no python3 outside of the user's home");
            return;
        }
        let connect = format!(
            "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{}')\"",
            path.display()
        );
        let text = fails(&workspace, &connect).await;
        assert!(text.contains("PermissionError"), "{text}");
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = format!(
            "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {}))\"",
            server.local_addr().unwrap().port()
        );
        succeeds(&workspace, &connect).await;
    }
}

#[tokio::test]
async fn temporary_files_work_and_are_the_tools_own() {
    for workspace in confined(Policy::at(Level::Workspace)).await {
        let text = succeeds(
        &workspace,
        "made=$(mktemp) && echo kept > \"$made\" && mv \"$made\" \"$TMPDIR/file\" && echo \"=$TMPDIR=\"",
    )
    .await;
        let scratch = text.split('=').nth_back(1).unwrap().to_owned();
        let (real, shown) = workspace.sandbox.sandbox().unwrap().temporary();
        assert_eq!(Path::new(&scratch), shown);
        assert!(real.to_str().unwrap().contains("zot-jail-"), "{real:?}");
        let path = format!("{scratch}/file");
        let read = workspace.call("read", json!({ "path": path })).await;
        assert_eq!(read.joined_text(), "kept\n");
        let write = workspace
            .call("write", json!({"path": path, "content": "by write\n"}))
            .await;
        assert!(!write.is_error, "{}", write.joined_text());
        let text = succeeds(&workspace, "cat \"$TMPDIR/file\"").await;
        assert!(text.contains("by write"), "{text}");

        drop(workspace);
        assert!(!real.exists(), "{real:?}");
    }
}

#[tokio::test]
async fn long_outputs_are_kept_where_they_can_be_read() {
    for workspace in jailed().await {
        let text = succeeds(&workspace, "seq 1 5000").await;
        let (_, rest) = text.split_once("full output: ").unwrap();
        let (log, _) = rest.split_once(']').unwrap();
        let read = workspace
            .call("read", json!({"path": log, "offset": 2500, "limit": 1}))
            .await;
        assert!(
            read.joined_text().starts_with("2500"),
            "{}",
            read.joined_text()
        );
        succeeds(&workspace, &format!("grep 2500 {log}")).await;
    }
}

#[tokio::test]
async fn an_open_jail_holds_nobody() {
    for workspace in jailed().await {
        let outside = directory_outside();
        let command = format!("echo x > {}/file", outside.path().display());
        fails(&workspace, &command).await;
        workspace.apply(Policy::default());
        succeeds(&workspace, &command).await;
        workspace.apply(Policy::jail());
        fails(&workspace, &command).await;
    }
}

#[tokio::test]
async fn workspace_writes_inside_and_explains_what_it_refuses() {
    let outside = directory_outside();
    let outside = outside.path().canonicalize().unwrap();
    let (secret, fresh) = (outside.join("secret"), outside.join("fresh"));
    fs::write(&secret, "kept").unwrap();
    for workspace in confined(Policy::at(Level::Workspace)).await {
        succeeds(&workspace, "echo x > made && cat /etc/passwd made").await;
        let text = fails(&workspace, &format!("cat {}", secret.display())).await;
        let expected = format!(
            "\n[sandbox workspace] reading {0} is refused; only the user can allow it, with \
             --sandbox-read {0}",
            secret.display()
        );
        assert!(text.ends_with(&expected), "{text}");
        let text = fails(&workspace, &format!("echo x > {}", fresh.display())).await;
        let expected = format!(
            "changing {0} is refused; only the user can allow it, with --sandbox-write {0}",
            outside.display()
        );
        assert!(text.ends_with(&expected), "{text}");
        // A failure of its own is not blamed on the sandbox.
        let text = fails(&workspace, "echo wrong; exit 3").await;
        assert!(!text.contains("sandbox"), "{text}");
        let text = fails(&workspace, "echo x > /etc/zot-test").await;
        assert!(text.contains("[sandbox workspace] "), "{text}");
        let may_write = rustix::fs::access("/etc", rustix::fs::Access::WRITE_OK).is_ok();
        assert_eq!(text.contains("--sandbox-write"), may_write, "{text}");
    }
    assert_eq!(fs::read(&secret).unwrap(), b"kept");
    assert!(!fresh.exists());
}

#[tokio::test]
async fn every_refusal_names_the_option_that_lifts_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let outside = directory_outside();
    let socket = outside.path().canonicalize().unwrap().join("x.sock");
    let _server = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let socket = socket.display();
    let policy = |rules: Rules| Policy {
        level: Level::Workspace,
        rules,
    };
    for workspace in confined(Policy::at(Level::Workspace)).await {
        let has_view = workspace.has_view();
        fs::create_dir_all(workspace.path(".git")).unwrap();
        fs::write(workspace.path(".git/config"), "[core]\n").unwrap();
        if has_view {
            let text = fails(&workspace, "echo x > new; mv new .git/config").await;
            let config = workspace.path(".git/config");
            let advice = format!("--sandbox-write {}", config.display());
            assert!(text.ends_with(&advice), "{text}");
            let text = fails(&workspace, "cat /etc/shadow").await;
            assert!(
                text.ends_with("it holds secrets, and no rule shows it"),
                "{text}"
            );
        }
        let connect = format!(
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{socket}\")'"
        );
        let text = fails(&workspace, &connect).await;
        let advice = format!(
            "connecting to {socket} is refused; only the user can allow it, with --sandbox-unix-socket {socket}"
        );
        assert!(
            text.contains(&advice) && !text.contains("--sandbox-read"),
            "{text}"
        );
        let connect = format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}'");
        let text = fails(&workspace, &connect).await;
        let says_so = text.contains("--sandbox-connect 127.0.0.1:PORT");
        assert_eq!(says_so, has_view, "{text}");
        workspace.apply(policy(Rules {
            run: Some(vec!["cat".into()]),
            ..Rules::default()
        }));
        succeeds(&workspace, "cat a.txt").await;
        for program in ["ls", "mkdir x"] {
            let text = fails(&workspace, program).await;
            let name = program.split(' ').next().unwrap();
            assert!(
                text.contains("only the user can allow it, with --sandbox-run /"),
                "{text}"
            );
            assert!(text.ends_with(&format!("/{name}")), "{text}");
        }
    }
}

#[tokio::test]
async fn a_program_in_the_home_directory_can_be_allowed() {
    let home = directory_outside();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir(home.join("bin")).unwrap();
    fs::copy(fs::canonicalize("/bin/cat").unwrap(), home.join("bin/tool")).unwrap();
    if confined(Policy::at(Level::Workspace)).await.is_empty() {
        return;
    }
    for without_namespaces in [false, true] {
        let directory = directory_outside();
        let sandbox = ToolSandbox::new(directory.path(), Some(home.clone()));
        let sandbox = match without_namespaces {
            true => sandbox.without_namespaces(),
            false => sandbox,
        };
        let workspace = Workspace::around(directory, Some(home.clone()), sandbox);
        workspace.apply(Policy {
            level: Level::Workspace,
            rules: Rules {
                run: Some(vec!["~/bin/tool".into()]),
                ..Rules::default()
            },
        });
        fs::write(workspace.path("file"), "shown").unwrap();
        let tool = home.join("bin/tool");
        let text = succeeds(&workspace, &format!("{} file", tool.display())).await;
        assert!(text.contains("shown"), "{text}");
        fails(&workspace, "ls").await;
    }
}

#[tokio::test]
async fn limits_that_end_a_command_are_named() {
    let rules = Rules {
        limits: Limits {
            processor_seconds: Some(1),
            open_files: Some(20),
            ..Limits::default()
        },
        ..Rules::default()
    };
    for level in [Level::Off, Level::Workspace] {
        let policy = Policy {
            level,
            rules: rules.clone(),
        };
        for workspace in confined(policy).await {
            let text = fails(&workspace, "while :; do :; done").await;
            let expected =
                format!("[sandbox {level}] the command seems to have reached the limit of 1 s");
            assert!(text.contains(&expected), "{text}");
            let open = "python3 -c 'a = [open(\"a.txt\") for _ in range(50)]'";
            let text = fails(&workspace, open).await;
            assert!(text.contains("with --sandbox-open-files N"), "{text}");
        }
    }
}

#[tokio::test]
async fn read_only_changes_nothing() {
    for workspace in confined(Policy::at(Level::ReadOnly)).await {
        succeeds(&workspace, "cat a.txt; echo x > $TMPDIR/x").await;
        let text = fails(&workspace, "echo x > made").await;
        let directory = workspace.sandbox.directory().unwrap();
        let expected = format!(
            "[sandbox read-only] changing {} is refused",
            directory.display()
        );
        assert!(text.contains(&expected), "{text}");
        assert!(!workspace.path("made").exists());
    }
}

#[tokio::test]
async fn protected_files_that_a_command_makes_are_named() {
    for workspace in confined(Policy::at(Level::Workspace)).await {
        let text = succeeds(&workspace, "echo '{}' > .mcp.json; mkdir -p .git/hooks").await;
        assert!(!workspace.path(".mcp.json").exists(), "{text}");
        let name = workspace.path(".mcp.json").display().to_string();
        assert!(
            text.contains(&format!(
                "{name}, which the command made, is called {name}.withheld"
            )),
            "{text}"
        );
    }
}

#[tokio::test]
async fn commands_get_the_variables_of_their_level() {
    // Set by the programs that run tests.
    const NAME: &str = "CARGO_MANIFEST_DIR";
    if std::env::var_os(NAME).is_none() {
        skip("the test was not started by cargo");
        return;
    }
    let show = format!("echo \"=${NAME}=\"; test -n \"$PATH\"");
    let is_passed = async |workspace: &Workspace| {
        let text = succeeds(workspace, &show).await;
        !text.contains("\n==\n")
    };
    let named = |policy: Policy| Policy {
        rules: Rules {
            environment: vec![NAME.to_owned()],
            ..policy.rules
        },
        ..policy
    };
    let withholding = Workspace::recorded_with(|sandbox| sandbox.withheld(vec![NAME.to_owned()]));
    assert!(!is_passed(&withholding).await, "off, but a key");
    withholding.apply(named(Policy::default()));
    assert!(is_passed(&withholding).await, "off, named");
    assert!(is_passed(&Workspace::recorded()).await, "off");
    for (policy, expected) in [
        (Policy::at(Level::Workspace), false),
        (named(Policy::at(Level::Workspace)), true),
        (Policy::jail(), true),
    ] {
        for workspace in confined(policy.clone()).await {
            assert_eq!(is_passed(&workspace).await, expected, "{policy:?}");
        }
    }
    if let Some(workspace) = confined(Policy::jail()).await.first() {
        assert!(is_passed(workspace).await);
        withholding.apply(Policy::jail());
        assert!(!is_passed(&withholding).await, "a key in the jail");
    }
}

#[test]
fn what_cannot_be_confined_is_refused() {
    let status = Status::NotEnforced("no Landlock".to_owned());
    assert_eq!(
        CommandConfinement::from(status),
        CommandConfinement::Impossible("no Landlock".to_owned())
    );
    let impossible = SandboxError::Impossible("no Landlock".to_owned());
    let refusal = NotConfined::to("/usr".into(), impossible);
    assert_eq!(
        refusal.to_string(),
        "commands cannot be confined here (no Landlock), and zot is confined to /usr: use read, \
         write and edit; only the user can lift this"
    );
}

/// As in the home directory: `.zot` is protected there, and zot's own.
#[tokio::test]
async fn the_directory_of_zot_is_empty_in_the_working_directory() {
    if confined(Policy::at(Level::Workspace)).await.is_empty() {
        return;
    }
    for name in [".zot", "elsewhere"] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join("auth.json"), "key").unwrap();
        let sandbox = ToolSandbox::new(&root, None).hidden(vec![root.join(name)]);
        let workspace = Workspace::around(directory, None, sandbox);
        workspace.apply(Policy::at(Level::Workspace));
        if !workspace.has_view() {
            return;
        }
        let text = succeeds(
            &workspace,
            &format!("ls -A {name}; echo x > new && echo done"),
        )
        .await;
        assert!(
            text.contains("done") && !text.contains("auth.json"),
            "{text}"
        );
        let path = format!("{name}/auth.json");
        let output = workspace.call("read", json!({"path": path})).await;
        assert!(output.is_error, "{}", output.joined_text());
        let output = workspace
            .call("write", json!({"path": path, "content": "mine"}))
            .await;
        assert!(output.is_error, "{}", output.joined_text());
        assert_eq!(workspace.content(&path), b"key");
    }
}
