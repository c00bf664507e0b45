use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::SystemTime;

use zot_process::sandbox::{Contact, Level, Obstacles, Policy};

mod alone;

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
    let text = explained(&workspace, &walls, "Permission denied (os error 13)");
    assert!(
        text.contains("this may be why the command failed"),
        "{text}"
    );
    assert!(
        text.contains("can only be read, $TMPDIR can be changed"),
        "{text}"
    );
}

/// Returns what the model is told of an output.
fn explained(workspace: &Workspace, walls: &Walls, output: &str) -> String {
    found(workspace, walls, output).map_or_else(String::new, |found| found.explain())
}

#[test]
fn only_options_that_could_help_are_named() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::Workspace);
    if !walls.has_view() {
        return;
    }
    // A program that used the proxy would have another problem.
    let text = explained(
        &workspace,
        &walls,
        "node: getaddrinfo EAI_AGAIN example.com",
    );
    assert!(text.contains("do not use the HTTP proxy"), "{text}");
    assert!(
        text.ends_with("with --sandbox-connect '*' or --sandbox off"),
        "{text}"
    );
    let text = explained(&workspace, &walls, "worker: Permission denied");
    assert!(
        text.ends_with("with --sandbox-write PATH or --sandbox off"),
        "{text}"
    );
    let text = explained(
        &workspace,
        &walls,
        "client: socket: Operation not permitted",
    );
    assert!(
        text.ends_with("with --sandbox-unix-socket PATH or --sandbox off"),
        "{text}"
    );
    // Not found by the proxy, which was allowed to look.
    let output = "cannot find the address of none.example:80: failed to lookup address information: Name or \
                  service not known.";
    assert_eq!(found(&workspace, &walls, output), None);
}

#[test]
fn the_socket_of_docker_is_named_through_links() {
    let workspace = Workspace::recorded();
    let outside = directory_outside();
    let outside = outside.path().canonicalize().unwrap();
    fs::create_dir(outside.join("run")).unwrap();
    symlink("run", outside.join("var")).unwrap();
    let socket = outside.join("run/docker.sock");
    let _daemon = UnixListener::bind(&socket).unwrap();
    let named = outside.join("var/docker.sock");
    let named = named.display();
    for level in [Level::Workspace, Level::ReadOnly] {
        let walls = walls(&workspace, level);
        for output in [
            format!(
                "Cannot connect to the Docker daemon at unix://{named}. Is the docker daemon running?"
            ),
            format!(
                "permission denied while trying to connect to the Docker daemon socket at unix://{named}: Get \
                 \"http://%2Fdocker.sock/v1.24/containers/json\": dial unix {named}: socket: operation not \
                 permitted"
            ),
            format!(
                "failed to connect to the docker API at unix://{named}; check if the path is correct and if the \
                 daemon is running: dial unix {named}: connect: permission denied"
            ),
        ] {
            let text = explained(&workspace, &walls, &output);
            let advice = format!("--sandbox-unix-socket {}", socket.display());
            assert!(text.contains(&advice), "{text}");
            for other in ["--sandbox-write", "--sandbox-read", "--sandbox-connect"] {
                assert!(!text.contains(other), "{text}");
            }
            // Nothing helps if the daemon does not run.
            let output = output.replace("docker.sock", "none.sock");
            let found = found(&workspace, &walls, &output).unwrap();
            assert!(!found.may_be_lifted(), "{found:?}");
            let text = found.explain();
            assert!(
                text.ends_with("none.sock outside of the sandbox either"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_host_cannot_be_allowed_to_ssh() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::Workspace);
    if !walls.has_view() {
        return;
    }
    for output in [
        "ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
        "ssh: connect to host 192.0.2.1 port 22: Network is unreachable\r\nfatal: Could not read from remote repository.",
    ] {
        let text = explained(&workspace, &walls, output);
        assert!(text.contains("ssh does not use an HTTP proxy"), "{text}");
        assert!(!text.contains("HOST:PORT"), "{text}");
    }
}

/// A host that the proxy has refused.
fn refused(host: &str, port: u16, private_address: Option<&str>) -> Contact {
    Contact {
        host: host.to_owned(),
        port,
        is_allowed: false,
        private_address: private_address.map(|address| address.parse().unwrap()),
        times: 1,
        first: SystemTime::now(),
        last: SystemTime::now(),
    }
}

#[test]
fn hosts_are_named_with_the_rules_they_need() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::Workspace);
    let explain = |hosts: Vec<Contact>| {
        let obstacles = Obstacles {
            hosts,
            ..Obstacles::default()
        };
        let found = Obstruction::find(&walls, &workspace.path(""), obstacles, None).unwrap();
        (found.explain(), found.private_hosts())
    };
    let (text, remark) = explain(vec![
        refused("one.example", 443, None),
        refused("vm", 8099, Some("10.0.0.7")),
        refused("six", 80, Some("fd00::1")),
    ]);
    assert!(
        text.ends_with(
            "connections refused: one.example:443, vm:8099 (at the private address 10.0.0.7), six:80 (at the \
             private address fd00::1); only the user can allow them, with --sandbox-connect 10.0.0.7:8099 \
             and --sandbox-connect [fd00::1]:80 and --sandbox-connect HOST:PORT"
        ),
        "{text}"
    );
    let remark = remark.unwrap();
    assert!(
        remark.contains("vm leads to the private address 10.0.0.7"),
        "{remark}"
    );
    let many = (1..20).map(|port| refused("one.example", port, None));
    let (text, remark) = explain(many.collect());
    assert!(text.ends_with("with --sandbox-connect HOST:PORT"), "{text}");
    assert_eq!(remark, None);
}

/// Runs `check` with the rights of nobody.
fn as_another_user<T: Send>(check: impl FnOnce() -> T + Send) -> T {
    const NOBODY: u32 = 65534;
    std::thread::scope(|scope| {
        let checking = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(NOBODY);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            check()
        });
        checking.join().unwrap()
    })
}

#[test]
fn what_the_user_may_not_do_either_is_not_asked_about() {
    let workspace = Workspace::recorded();
    let walls = walls(&workspace, Level::Workspace);
    for output in [
        "/bin/sh: 1: cannot create /usr/foo: Read-only file system",
        "/bin/sh: 1: cannot create /foo: Permission denied",
        "npm ERR! code EACCES\nError: EACCES: permission denied, mkdir '/usr/foo'",
        "mkdir: cannot create directory '/usr/share/foo': Read-only file system",
    ] {
        let found = as_another_user(|| found(&workspace, &walls, output)).unwrap();
        assert!(!found.may_be_lifted(), "{found:?}");
        assert_eq!(found.allowances(), []);
        let text = found.explain();
        assert!(
            text.ends_with("is refused, and the user may not do it outside of the sandbox either"),
            "{text}"
        );
        assert!(!text.contains("--sandbox-"), "{text}");
    }
    // Something else may have been in the way as well.
    let both = "cannot create /usr/foo: Read-only file system\ncurl: (6) Could not resolve host: x";
    let found = as_another_user(|| found(&workspace, &walls, both)).unwrap();
    assert!(found.may_be_lifted(), "{found:?}");
}

#[test]
fn the_repository_of_a_worktree_is_offered() {
    let workspace = Workspace::recorded();
    let outside = directory_outside();
    let outside = outside.path().canonicalize().unwrap();
    let repository = outside.join("main/.git");
    for directory in [
        "objects",
        "refs",
        "worktrees/wt2",
        "modules/sub/objects",
        "modules/sub/refs",
    ] {
        fs::create_dir_all(repository.join(directory)).unwrap();
    }
    fs::write(repository.join("modules/sub/HEAD"), "").unwrap();
    let output = |part: &str| {
        let path = repository.join(part);
        format!("fatal: not a git repository: {}", path.display())
    };
    let walls = walls(&workspace, Level::Workspace);
    assert_eq!(
        found(&workspace, &walls, &output("worktrees/wt2")),
        None,
        "without HEAD"
    );
    fs::write(repository.join("HEAD"), "ref: refs/heads/main").unwrap();
    assert_eq!(
        offered(&workspace, &walls, &output("worktrees/wt2")),
        [Allowance::Write(repository.clone())]
    );
    assert_eq!(
        offered(&workspace, &walls, &output("modules/sub")),
        [Allowance::Write(repository.join("modules/sub"))]
    );
    assert_eq!(found(&workspace, &walls, &output("worktrees/none")), None);
    assert_eq!(
        found(
            &workspace,
            &walls,
            "fatal: not a git repository (or any of the parent directories): .git"
        ),
        None
    );
    let other = as_another_user(|| offered(&workspace, &walls, &output("worktrees/wt2")));
    if rustix::process::geteuid().is_root() {
        assert_eq!(other, [], "a repository of somebody else");
    }
    let walls = self::walls(&workspace, Level::ReadOnly);
    assert_eq!(
        offered(&workspace, &walls, &output("worktrees/wt2")),
        [Allowance::Read(repository)]
    );
}
