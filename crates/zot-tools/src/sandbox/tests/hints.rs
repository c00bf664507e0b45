//! What results say about refusals that are hard to recognise, with real commands.

use std::fs;
use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::skip;
use zot_process::sandbox::{Level, Policy, Rules};

use super::asking::{Chooses, asks_for, bash};
use super::commands::confined;
use crate::sandbox::ToolSandbox;
use crate::test_support::{Workspace, directory_outside};

#[tokio::test]
async fn what_is_lost_with_the_home_of_the_sandbox_is_said_once() {
    for policy in [Policy::at(Level::Workspace), Policy::jail()] {
        for workspace in confined(policy).await {
            let no = Chooses::new("no");
            let run = async |command| bash(&workspace, command, &no).await.joined_text();
            let text =
                run("mkdir -p ~/.cache/tool ~/go; echo x > ~/.config; echo x > inside").await;
            assert!(
                !text.contains("home directory"),
                "of ordinary tools: {text}"
            );
            let text = run("echo report > ~/report.txt").await;
            assert!(
                text.ends_with(
                    "[sandbox workspace] ~/report.txt is in the sandbox's own home directory: it is removed when zot \
                     ends, and is not a file of the user"
                ),
                "{text}"
            );
            let text = run("echo more > ~/more.txt").await;
            assert!(!text.contains("home directory"), "{text}");
            workspace.apply(Policy::default());
            let text = run("true").await;
            assert!(!text.contains("home directory"), "{text}");
        }
    }
}

/// Returns a name of this machine that leads to an address of its own, as in `/etc/hosts`.
fn private_name() -> Option<(String, IpAddr)> {
    let hosts = fs::read_to_string("/etc/hosts").ok()?;
    hosts.lines().find_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let address: IpAddr = words.next()?.parse().ok()?;
        let is_own = address.is_ipv4() && TcpListener::bind((address, 0)).is_ok();
        let name = words.find(|name| !name.starts_with("localhost"))?;
        is_own.then(|| (name.to_owned(), address))
    })
}

#[tokio::test]
async fn a_name_with_a_private_address_is_asked_about_twice_in_one_call() {
    let workspace = Workspace::recorded();
    workspace.apply(Policy::at(Level::Workspace));
    if !workspace.has_view() {
        skip("there is no network of its own without namespaces");
        return;
    }
    let Some((name, address)) = private_name() else {
        skip("no name leads to this machine");
        return;
    };
    let server = TcpListener::bind((address, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let command = asks_for(&format!("{name}:{port}"));
    let answer = Chooses::new("session");
    let text = bash(&workspace, &command, &answer).await.joined_text();
    assert!(text.contains("HTTP/1.1 200"), "{text}");
    let note = format!(
        "(run once more: the user allowed connecting to {name}:{port} for this session, then connecting to \
         {address}:{port} for this session)"
    );
    assert!(text.ends_with(&note), "{text}");
    let messages = answer.messages();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(
        messages[0].contains(&format!("refused connecting to {name}:{port}.")),
        "{messages:?}"
    );
    assert!(
        messages[1].contains(&format!(
            "refused connecting to {address}:{port} ({name} leads to the private address {address})."
        )),
        "{messages:?}"
    );

    // With a rule for the name alone, the advice is the rule that is missing.
    let workspace = Workspace::recorded();
    let rule = format!("{name}:{port}").parse().unwrap();
    workspace.apply(Policy {
        level: Level::Workspace,
        rules: Rules {
            connect: vec![rule],
            ..Rules::default()
        },
    });
    let no = Chooses::new("no");
    let text = bash(&workspace, &command, &no).await.joined_text();
    let advice = format!("only the user can allow them, with --sandbox-connect {address}:{port}");
    assert!(text.ends_with(&advice), "{text}");
}

fn git(directory: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments);
    command.output().is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn the_repository_of_a_worktree_can_be_allowed() {
    if confined(Policy::at(Level::Workspace)).await.is_empty() {
        return;
    }
    for without_namespaces in [false, true] {
        let directory = directory_outside();
        let root = directory.path().canonicalize().unwrap();
        let main: PathBuf = root.join("main");
        fs::create_dir(&main).unwrap();
        let is_made = git(&main, &["init", "-q"])
            && git(&main, &["commit", "-q", "--allow-empty", "-m", "first"])
            && git(&main, &["worktree", "add", "-q", "../second"]);
        if !is_made {
            skip("git cannot make a worktree");
            return;
        }
        let worktree = root.join("second");
        let sandbox = ToolSandbox::new(&worktree, None);
        let sandbox = match without_namespaces {
            true => sandbox.without_namespaces(),
            false => sandbox,
        };
        let workspace = Workspace::in_directory(&worktree, sandbox);
        workspace.apply(Policy::at(Level::Workspace));
        let text = bash(&workspace, "git status | head", &Chooses::new("no")).await;
        let text = text.joined_text();
        let repository = main.join(".git");
        let advice = format!(
            "changing {0} is refused; only the user can allow it, with --sandbox-write {0}",
            repository.display()
        );
        assert!(text.ends_with(&advice), "{text}");
        let answer = Chooses::new("session");
        let output = bash(&workspace, "git status", &answer).await;
        assert!(!output.is_error, "{}", output.joined_text());
        assert_eq!(answer.count(), 1);
    }
}

/// Without namespaces, what cannot be allowed is not advised.
#[tokio::test]
async fn real_programs_are_understood_without_namespaces() {
    for workspace in confined(Policy::at(Level::Workspace)).await {
        if workspace.has_view() {
            continue;
        }
        let no = Chooses::new("no");
        for (program, command, expected) in [
            (
                "true",
                "cp /bin/true program; chmod +x program; ./program",
                "cannot be run",
            ),
            ("true", "chmod 600 a.txt | tail -1", "cannot be changed"),
            (
                "curl",
                "curl -sS https://example.com",
                "no single host can be allowed",
            ),
            (
                "curl",
                "curl -sS http://localhost:8099",
                "no single host can be allowed",
            ),
        ] {
            let is_there = bash(&workspace, &format!("{program} --version"), &no).await;
            if is_there.is_error {
                continue;
            }
            let text = bash(&workspace, command, &no).await.joined_text();
            assert!(
                text.contains("this system denies namespaces") && text.contains(expected),
                "{text}"
            );
            assert!(!text.contains("HOST:PORT"), "{text}");
            assert!(!text.contains("--sandbox-write"), "{text}");
        }
    }
}
