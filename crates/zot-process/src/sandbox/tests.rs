//! Real commands in real sandboxes, with namespaces and without.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Level, Policy, Sandbox, Surroundings};
use crate::{ProcessGroup, launch};

struct Fixture {
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

    fn workspace(&self) -> std::path::PathBuf {
        self.home.path().join("project")
    }

    fn sandbox(&self, policy: Policy) -> Sandbox {
        let surroundings = Surroundings {
            workspace: self.workspace(),
            home: Some(self.home.path().to_owned()),
            scratch: self.scratch.path().to_owned(),
            without_namespaces: self.without_namespaces,
            ..Surroundings::default()
        };
        Sandbox::new(policy, surroundings).unwrap()
    }
}

/// Runs a shell script and returns its exit code and what it printed.
fn run(sandbox: &Sandbox, directory: &Path, script: &str) -> (i32, String) {
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
    let mut text = String::new();
    std::io::Read::read_to_string(&mut output, &mut text).unwrap();
    let end = runtime.block_on(group.close());
    (end.status.unwrap().code().unwrap_or(-1), text)
}

fn modes() -> Vec<bool> {
    match launch::namespaces_available() {
        Ok(()) => vec![false, true],
        Err(_) => vec![true],
    }
}

#[test]
fn a_workspace_can_be_written_and_its_surroundings_cannot() {
    for without_namespaces in modes() {
        let fixture = Fixture::new(without_namespaces);
        let sandbox = fixture.sandbox(Policy::at(Level::Workspace));
        let workspace = fixture.workspace();
        fs::write(fixture.home.path().join("secret"), "secret").unwrap();
        let script = "pwd; id; cat /proc/self/status | grep NSpid; ls -la / /tmp ~; env; echo x > file && echo y > $TMPDIR/y && cat ../secret; ls ..; mount; ip a";
        let (code, text) = run(&sandbox, &workspace, script);
        println!("{without_namespaces}: {code}\n{text}");
        assert_eq!(fs::read_to_string(workspace.join("file")).unwrap(), "x\n");
        assert!(!text.contains("secret\n") || text.contains("denied"), "{text}");
    }
}
