//! Real commands in real sandboxes, with namespaces and without.

mod protection;
mod rules;
mod terminals;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Level, Limits, Policy, RunMark, Sandbox, SandboxError, Surroundings};
use crate::{ProcessGroup, launch};

/// A home directory with a project in it.
pub(super) struct Fixture {
    home: tempfile::TempDir,
    scratch: tempfile::TempDir,
    without_namespaces: bool,
}

impl Fixture {
    fn new(without_namespaces: bool) -> Self {
        let fixture = Self {
            home: tempfile::tempdir().unwrap(),
            scratch: tempfile::tempdir().unwrap(),
            without_namespaces,
        };
        fs::create_dir(fixture.workspace()).unwrap();
        fixture
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.home.path().join("project")
    }

    pub(super) fn sandbox(&self, policy: Policy) -> Sandbox {
        let surroundings = Surroundings {
            workspace: self.workspace(),
            home: Some(self.home.path().to_owned()),
            scratch: self.scratch.path().to_owned(),
            without_namespaces: self.without_namespaces,
            ..Surroundings::default()
        };
        Sandbox::new(policy, surroundings).unwrap()
    }

    /// Runs a script in the workspace; it must succeed.
    fn succeeds(&self, policy: Policy, script: &str) -> String {
        let (code, text, _) = run(&self.sandbox(policy), &self.workspace(), script);
        assert_eq!(code, 0, "{script}: {text}");
        text
    }

    fn fails(&self, policy: Policy, script: &str) -> String {
        let (code, text, _) = run(&self.sandbox(policy), &self.workspace(), script);
        assert_ne!(code, 0, "{script}: {text}");
        text
    }
}

/// Runs a script and returns its exit code and what it printed.
pub(super) fn run(sandbox: &Sandbox, directory: &Path, script: &str) -> (i32, String, RunMark) {
    run_while(sandbox, directory, script, |_| {})
}

/// As [`run`], and does something else while it runs.
fn run_while(
    sandbox: &Sandbox,
    directory: &Path,
    script: &str,
    meanwhile: impl FnOnce(&RunMark),
) -> (i32, String, RunMark) {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).current_dir(directory);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let mut prepared = sandbox.prepare(command).unwrap();
    let (mut output, writer) = std::io::pipe().unwrap();
    prepared
        .command
        .command_mut()
        .stdin(std::process::Stdio::null())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer);
    let group = ProcessGroup::spawn(prepared.command).unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut output, &mut text).unwrap();
        text
    });
    meanwhile(&prepared.run);
    let end = runtime.block_on(group.close());
    let text = reader.join().unwrap();
    let code = end.status.unwrap().code().unwrap_or(-1);
    (code, text, prepared.run)
}

/// Returns a fixture for each way in which this system can confine programs.
fn fixtures() -> Vec<Fixture> {
    let mut fixtures = vec![Fixture::new(true)];
    if launch::namespaces_available().is_ok() {
        fixtures.push(Fixture::new(false));
    }
    fixtures
}

/// Returns a fixture with namespaces, or skips the test.
pub(super) fn with_namespaces() -> Option<Fixture> {
    match launch::namespaces_available() {
        Ok(()) => Some(Fixture::new(false)),
        Err(reason) => {
            testkit::skip_without(testkit::KernelFeature::Namespaces, &reason);
            None
        }
    }
}

fn workspace() -> Policy {
    Policy::at(Level::Workspace)
}

/// Returns a policy without a proxy, which ends with each [`run`], and the view with it.
pub(super) fn with_kept_view() -> Policy {
    let mut policy = workspace();
    policy.rules.connect = vec!["*".parse().unwrap()];
    policy
}

#[test]
fn a_workspace_can_be_written_and_its_surroundings_cannot() {
    for fixture in fixtures() {
        fs::write(fixture.home.path().join("secret"), "a secret").unwrap();
        let text = fixture.succeeds(
            workspace(),
            "echo x > file; echo y > $TMPDIR/y; cat $TMPDIR/y",
        );
        assert_eq!(text, "y\n");
        assert_eq!(fs::read(fixture.workspace().join("file")).unwrap(), b"x\n");
        let text = fixture.fails(workspace(), "cat ../secret");
        assert!(!text.contains("a secret"), "{text}");
        fixture.succeeds(workspace(), "cd; echo x > of-my-own; cat of-my-own");
        assert!(!fixture.home.path().join("of-my-own").exists());
        fixture.fails(workspace(), "echo x > /etc/zot-was-here");
        // In a view, this is the home directory of the sandbox.
        run(
            &fixture.sandbox(workspace()),
            &fixture.workspace(),
            "echo x > ../beside",
        );
        assert!(!fixture.home.path().join("beside").exists());
    }
}

#[test]
fn a_read_only_workspace_can_be_read() {
    for fixture in fixtures() {
        fs::write(fixture.workspace().join("file"), "content").unwrap();
        let policy = Policy::at(Level::ReadOnly);
        assert_eq!(fixture.succeeds(policy.clone(), "cat file"), "content");
        fixture.fails(policy.clone(), "echo x > file");
        fixture.fails(policy.clone(), "echo x > new");
        fixture.succeeds(policy, "echo x > $TMPDIR/x");
        let kept = fs::read(fixture.workspace().join("file")).unwrap();
        assert_eq!(kept, b"content");
    }
}

#[test]
fn protected_files_stay_as_they_are() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::write(root.join(".git/config"), "[core]").unwrap();
    fs::write(root.join(".mcp.json"), "{}").unwrap();
    for attempt in [
        "echo x > .git/config",
        "echo x > .git/hooks/pre-commit",
        "mv .git git",
        "rm .git/config",
        "rm -rf .git/hooks",
        "mv .git/hooks h",
        "mkdir other && mv -T other .git",
        "echo x > .mcp.json",
        "rm .mcp.json",
        "echo x > new && mv new .mcp.json",
        "ln -f .git/config link && echo x > link",
        "chmod 777 .git/config",
    ] {
        fixture.fails(workspace(), attempt);
        assert_eq!(
            fs::read(root.join(".git/config")).unwrap(),
            b"[core]",
            "{attempt}"
        );
        assert_eq!(
            fs::read(root.join(".mcp.json")).unwrap(),
            b"{}",
            "{attempt}"
        );
        assert_eq!(fs::read_dir(root.join(".git/hooks")).unwrap().count(), 0);
    }
    fixture.succeeds(workspace(), "echo x > .git/HEAD && mkdir .git/refs");
}

#[test]
fn protected_files_that_did_not_exist_are_withheld() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        symlink("elsewhere", root.join(".zot")).unwrap();
        let sandbox = fixture.sandbox(workspace());
        let script = "mkdir -p .git/hooks; echo x > .git/hooks/post-checkout; echo x > .mcp.json; \
                      rm .zot; mkdir .zot; ln -s /etc .vscode; echo x > ordinary";
        let (code, text, run) = run(&sandbox, &root, script);
        assert_eq!(code, 0, "{text}");
        for name in [".git", ".mcp.json", ".zot", ".vscode"] {
            let left = fs::symlink_metadata(root.join(name));
            assert!(left.is_err(), "{name} is there");
        }
        assert!(root.join("ordinary").exists());
        let obstacles = sandbox.obstacles(&run);
        let mut names: Vec<_> = obstacles
            .withheld_files
            .iter()
            .map(|(path, renamed)| {
                assert!(fs::symlink_metadata(renamed).is_ok(), "{renamed:?}");
                path.file_name().unwrap().to_str().unwrap().to_owned()
            })
            .collect();
        names.sort_unstable();
        assert_eq!(names, [".git", ".mcp.json", ".vscode", ".zot"]);
    }
}

#[test]
fn a_named_protected_file_can_be_written() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        fs::write(root.join(".mcp.json"), "{}").unwrap();
        let mut policy = workspace();
        policy.rules.write.push(".mcp.json".into());
        fixture.succeeds(policy, "echo x > .mcp.json");
        assert_eq!(fs::read(root.join(".mcp.json")).unwrap(), b"x\n");
    }
}

#[test]
fn a_named_protected_file_can_be_created() {
    for fixture in fixtures() {
        let mut policy = workspace();
        policy.rules.write.push(".git".into());
        fixture.succeeds(policy, "mkdir .git && echo x > .git/config");
        assert!(fixture.workspace().join(".git/config").exists());
    }
}

#[test]
fn where_a_protected_link_leads_is_protected() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    fs::create_dir(root.join("settings")).unwrap();
    symlink("settings", root.join(".vscode")).unwrap();
    fixture.fails(workspace(), "echo x > settings/tasks.json");
    fixture.fails(workspace(), "echo x > .vscode/tasks.json");
}

#[test]
fn without_namespaces_a_changed_protected_file_is_reported() {
    let fixture = Fixture::new(true);
    let root = fixture.workspace();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::write(root.join(".git/config"), "[core]").unwrap();
    let sandbox = fixture.sandbox(workspace());
    let (code, _, mark) = run(&sandbox, &root, "echo x > .git/hooks/pre-commit");
    assert_eq!(code, 0);
    let changed = sandbox.obstacles(&mark).changed_files;
    assert_eq!(changed, [root.canonicalize().unwrap().join(".git/hooks")]);
}

#[test]
fn toolchains_in_the_home_directory_work() {
    for fixture in fixtures() {
        let home = fixture.home.path();
        fs::create_dir_all(home.join(".cargo/bin")).unwrap();
        fs::create_dir_all(home.join(".cargo/registry")).unwrap();
        fs::write(home.join(".cargo/credentials.toml"), "token").unwrap();
        let program = home.join(".cargo/bin/tool");
        fs::write(&program, "#!/bin/sh\necho a tool\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let text = fixture.succeeds(workspace(), "~/.cargo/bin/tool");
        assert_eq!(text, "a tool\n");
        fixture.fails(workspace(), "cat ~/.cargo/credentials.toml");
        fixture.fails(workspace(), "echo x > ~/.cargo/bin/tool");
        fs::write(home.join(".cargo/registry/y"), "kept").unwrap();
        let change = "cat ~/.cargo/registry/y; echo x > ~/.cargo/registry/y";
        match fixture.without_namespaces {
            true => drop(fixture.fails(workspace(), change)),
            // Only for itself.
            false => drop(fixture.succeeds(workspace(), change)),
        }
        assert_eq!(fs::read(home.join(".cargo/registry/y")).unwrap(), b"kept");
    }
}

#[test]
fn a_network_of_its_own_has_loopback_and_nothing_else() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let connect =
        format!("python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\"");
    fixture.fails(workspace(), &connect);
    let own = "python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 0)); \
               socket.create_connection(s.getsockname()); print('reached')\"";
    assert_eq!(fixture.succeeds(workspace(), own), "reached\n");
    let mut policy = workspace();
    policy.rules.connect = vec!["*".parse().unwrap()];
    fixture.succeeds(policy, &connect);
}

#[test]
fn the_proxy_leads_to_allowed_hosts_and_names_the_others() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = server.accept() {
            let mut head = [0; 1024];
            let _ = std::io::Read::read(&mut stream, &mut head);
            let response = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere";
            let _ = std::io::Write::write_all(&mut stream, response);
        }
    });
    let fetch = |address: &str| {
        format!(
            "python3 -c \"import os, urllib.request; os.environ.pop('no_proxy'); os.environ.pop('NO_PROXY'); \
             print(urllib.request.urlopen('http://{address}/').read().decode())\""
        )
    };
    let mut policy = workspace();
    policy.rules.connect = vec![format!("127.0.0.1:{port}").parse().unwrap()];
    let sandbox = fixture.sandbox(policy);
    let allowed = fetch(&format!("127.0.0.1:{port}"));
    let (code, text, _) = run(&sandbox, &fixture.workspace(), &allowed);
    assert_eq!((code, text.as_str()), (0, "here\n"));
    let refused = fetch("example.com");
    let (code, text, mark) = run(&sandbox, &fixture.workspace(), &refused);
    assert_ne!(code, 0, "{text}");
    let hosts = sandbox.obstacles(&mark).hosts;
    assert_eq!((hosts[0].host.as_str(), hosts[0].port), ("example.com", 80));
}

#[test]
fn only_listed_unix_sockets_can_be_reached() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let listed = fixture.home.path().join("listed.sock");
    let other = fixture.home.path().join("other.sock");
    let _listed = std::os::unix::net::UnixListener::bind(&listed).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(&other).unwrap();
    let connect = |path: &Path| {
        format!(
            "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{}')\"",
            path.display()
        )
    };
    fixture.fails(workspace(), &connect(&listed));
    let mut policy = workspace();
    policy.rules.unix_sockets.push(listed.clone());
    fixture.succeeds(policy.clone(), &connect(&listed));
    fixture.fails(policy, &connect(&other));
}

#[test]
fn memory_of_system_v_ends_with_its_command() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let sandbox = fixture.sandbox(with_kept_view());
    let make =
        "python3 -c \"import ctypes; assert ctypes.CDLL(None).shmget(77, 1 << 20, 0o1600) >= 0\"";
    let (code, text, _) = run(&sandbox, &fixture.workspace(), make);
    assert_eq!(code, 0, "{text}");
    let (code, text, _) = run(&sandbox, &fixture.workspace(), "cat /proc/sysvipc/shm");
    assert_eq!((code, text.lines().count()), (0, 1), "{text}");
}

#[test]
fn limits_hold() {
    for fixture in fixtures() {
        let mut policy = workspace();
        policy.rules.limits = Limits {
            memory_bytes: Some(64 << 20),
            processor_seconds: Some(1),
            open_files: Some(20),
            processes: None,
        };
        let text = fixture.succeeds(policy.clone(), "ulimit -d; ulimit -t; ulimit -n");
        assert_eq!(text, "65536\n1\n20\n");
        fixture.fails(policy, "while :; do :; done");
    }
}

#[test]
fn the_number_of_processes_is_limited_for_root_too() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let machine = || fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    let before = machine();
    let mut policy = workspace();
    policy.rules.limits.processes = Some(30);
    let start = |count: u32| {
        format!("all=; for i in $(seq {count}); do sleep 60 & all=\"$all $!\"; done; kill $all")
    };
    fixture.succeeds(policy.clone(), &start(20));
    // Those that are replaced do not count: the numbers begin again.
    let many = "for i in $(seq 400); do /bin/true; done; ";
    fixture.succeeds(policy.clone(), &format!("{many}{}", start(20)));
    if rustix::process::geteuid().is_root() && !launch::can_limit_root() {
        testkit::skip("this kernel cannot limit the processes of root");
    } else {
        fixture.fails(policy.clone(), &start(400));
    }
    // More than the kernel can count.
    policy.rules.limits.processes = Some(u64::MAX);
    fixture.succeeds(policy, "true");
    assert_eq!(machine(), before);
}

#[test]
fn the_directory_with_the_keys_is_no_workspace() {
    let fixture = Fixture::new(false);
    let surroundings = Surroundings {
        workspace: fixture.workspace(),
        hidden: vec![fixture.workspace()],
        scratch: fixture.scratch.path().to_owned(),
        ..Surroundings::default()
    };
    let refused = Sandbox::new(workspace(), surroundings.clone());
    assert!(matches!(refused, Err(SandboxError::OwnDirectory(_))));
    assert!(Sandbox::new(Policy::default(), surroundings).is_ok());
}

#[test]
fn a_replaced_workspace_is_found_again() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        let sandbox = fixture.sandbox(workspace());
        assert_eq!(run(&sandbox, &root, "echo x > before").0, 0);
        fs::rename(&root, fixture.home.path().join("moved")).unwrap();
        fs::create_dir(&root).unwrap();
        assert_eq!(run(&sandbox, &root, "echo x > after").0, 0);
        assert!(root.join("after").exists());
    }
}

#[test]
fn another_policy_applies_from_the_next_command_on() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        let sandbox = fixture.sandbox(workspace());
        assert_eq!(run(&sandbox, &root, "echo x > one").0, 0);
        sandbox.set_policy(Policy::at(Level::ReadOnly)).unwrap();
        assert_ne!(run(&sandbox, &root, "echo x > two").0, 0);
        sandbox.set_policy(Policy::default()).unwrap();
        assert_eq!(
            run(&sandbox, &root, "echo x > three; echo x > ../beside").0,
            0
        );
    }
}

#[test]
fn nothing_is_left_behind_without_namespaces() {
    let fixture = Fixture::new(true);
    // Other runs of this test do not count.
    let sleep = format!("sleep 987.{}", std::process::id());
    // One that leaves its session, its group and its parent.
    let script = format!(
        "setsid sh -c 'setsid {sleep} & setsid {sleep} & echo > started' & \
         until [ -e started ]; do sleep 0.02; done; sleep 0.1"
    );
    fixture.succeeds(workspace(), &script);
    let alive = Command::new("pgrep").args(["-f", &sleep]).output();
    if let Ok(alive) = alive {
        assert_eq!(alive.stdout, b"", "left behind");
    }
}

#[test]
fn the_way_to_the_workspace_cannot_be_renamed() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let deep = fixture.workspace().join("a/b");
    fs::create_dir_all(deep.join(".git")).unwrap();
    fs::write(deep.join(".git/config"), "[core]").unwrap();
    let surroundings = Surroundings {
        workspace: deep.clone(),
        home: Some(fixture.home.path().to_owned()),
        scratch: fixture.scratch.path().to_owned(),
        ..Surroundings::default()
    };
    let sandbox = Sandbox::new(workspace(), surroundings).unwrap();
    for attempt in [
        "mv ~/project ~/moved",
        "mv ~/project/a ~/project/c",
        "cd ~ && mv project moved && mkdir -p project/a/b",
        "rm -rf ~/project/a",
    ] {
        let (code, text, _) = run(&sandbox, &deep, attempt);
        assert_ne!(code, 0, "{attempt}: {text}");
        let (code, text, _) = run(&sandbox, &deep, "echo x >> .git/config");
        assert_ne!(code, 0, "{attempt}: {text}");
        assert_eq!(
            fs::read(deep.join(".git/config")).unwrap(),
            b"[core]",
            "{attempt}"
        );
    }
}

#[test]
fn links_that_a_child_planted_are_not_followed_when_the_view_is_made_again() {
    for fixture in fixtures() {
        let outside = tempfile::tempdir().unwrap();
        let home = fixture.home.path();
        fs::create_dir_all(home.join(".cargo/bin")).unwrap();
        let root = fixture.workspace();
        let sandbox = fixture.sandbox(workspace());
        let plant = format!(
            "mv ~/.cargo ~/c; rm -rf ~/.cargo; ln -s {0} ~/.cargo; ln -s {0} ~/.rustup; ln -s {0} build",
            outside.path().display()
        );
        let _ = run(&sandbox, &root, &plant);
        fs::create_dir_all(home.join(".rustup/toolchains")).unwrap();
        let mut policy = workspace();
        policy.rules.write.push("build".into());
        sandbox.set_policy(policy).unwrap();
        let _ = run(
            &sandbox,
            &root,
            "echo x > build/file; echo x > ~/.rustup/file",
        );
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_rule_may_lead_up_from_the_workspace() {
    for fixture in fixtures() {
        let shared = fixture.home.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join("text"), "shared text").unwrap();
        let mut policy = workspace();
        policy.rules.read.push("../shared".into());
        let text = fixture.succeeds(policy.clone(), "cat ../shared/text");
        assert_eq!(text, "shared text");
        fixture.fails(policy.clone(), "echo x > ../shared/made");
        policy.rules.write.push("./../shared/./".into());
        fixture.succeeds(policy, "echo x > ../shared/made");
        assert!(shared.join("made").exists());
    }
}

#[test]
fn what_one_command_creates_is_not_a_file_of_the_user_for_another() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        let sandbox = fixture.sandbox(workspace());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "true"]).current_dir(&root);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        // Has not ended when the other begins, and has created the file.
        let first = sandbox.prepare(command).unwrap();
        fs::create_dir(root.join(".zot")).unwrap();
        let (_, _, second) = run(&sandbox, &root, "true");
        let names = sandbox.obstacles(&second).withheld_files;
        assert_eq!(names.len(), 1, "{names:?}");
        assert!(!root.join(".zot").exists());
        drop(first);
    }
}

#[test]
fn a_program_that_runs_on_cannot_occupy_the_names_of_withheld_files() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        let sandbox = fixture.sandbox(workspace());
        let (_, _, run) = run(&sandbox, &root, "true");
        for round in 1..=3 {
            // The second time, it sees what the files were called the first time.
            for name in [".mcp.json", ".envrc"] {
                fs::write(root.join(name), "x").unwrap();
                let seen = sandbox.obstacles(&run).withheld_files;
                assert!(!root.join(name).exists(), "{name} is there");
                for (path, renamed) in &seen {
                    let renamed = renamed.file_name().unwrap().to_str().unwrap();
                    let path = path.file_name().unwrap().to_str().unwrap();
                    let suffix = renamed.strip_prefix(path).unwrap();
                    fs::write(root.join(format!(".envrc{suffix}")), "x").unwrap();
                }
            }
            // It may lock others out as well.
            fs::set_permissions(&root, fs::Permissions::from_mode(0o000)).unwrap();
            let seen = sandbox.obstacles(&run).withheld_files;
            fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
            let is_root = rustix::process::geteuid().is_root();
            assert!(!is_root || seen.len() >= 2 * round, "{seen:?}");
        }
    }
}

#[test]
fn the_last_look_of_the_supervisor_finds_another_name_too() {
    for fixture in fixtures() {
        let root = fixture.workspace();
        let sandbox = fixture.sandbox(workspace());
        let protected = root.join(".mcp.json");
        let script =
            "echo x > .mcp.json; while [ -e .mcp.json ]; do sleep 0.01; done; echo x > .mcp.json";
        let (_, _, run) = run_while(&sandbox, &root, script, |run| {
            while sandbox.obstacles(run).withheld_files.is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        assert!(!protected.exists());
        assert_eq!(sandbox.obstacles(&run).withheld_files.len(), 2);
    }
}

#[test]
fn git_is_not_led_to_another_configuration() {
    let Some(fixture) = with_namespaces() else {
        return;
    };
    let root = fixture.workspace();
    fs::write(root.join(".git"), "gitdir: ../elsewhere").unwrap();
    fixture.fails(workspace(), "echo gitdir: evil > .git");
    fs::remove_file(root.join(".git")).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    let sandbox = fixture.sandbox(workspace());
    let (_, _, mark) = run(&sandbox, &root, "echo ../evil > .git/commondir");
    assert_eq!(sandbox.obstacles(&mark).withheld_files.len(), 1);
    assert!(!root.join(".git/commondir").exists());
}

#[test]
fn a_scratch_directory_in_the_workspace_is_out_of_reach() {
    let root = tempfile::tempdir().unwrap();
    let scratch = root.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    for without_namespaces in [false, true] {
        let surroundings = Surroundings {
            workspace: root.path().to_owned(),
            scratch: scratch.clone(),
            without_namespaces,
            ..Surroundings::default()
        };
        if without_namespaces || launch::namespaces_available().is_err() {
            let refused = Sandbox::new(workspace(), surroundings).err().unwrap();
            assert!(refused.to_string().contains("TMPDIR"), "{refused}");
            continue;
        }
        let sandbox = Sandbox::new(workspace(), surroundings).unwrap();
        let (code, text, _) = run(&sandbox, root.path(), "ls -A scratch; rmdir scratch");
        assert_ne!(code, 0, "{text}");
        assert!(!text.contains("home"), "{text}");
    }
}
