use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Confinement, FileAccess, fails, has_landlock, installed, shell, succeeds};
use crate::launch::Execution;

/// Refuses writing, connecting, and starting anything but `programs`.
fn tight(programs: &[&str]) -> Confinement {
    Confinement::default()
        .network(false)
        .filesystem(FileAccess {
            execute: Execution::Only(programs.iter().map(PathBuf::from).collect()),
            ..FileAccess::default()
        })
}

/// Creates an executable in another process: a fork of ours, made for another test, could hold the file
/// open for writing, and then it cannot be executed.
fn executable(path: &Path, text: &str) {
    let mut writer = shell("printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"");
    writer.arg(path).arg(text);
    succeeds(writer, &Confinement::default());
}

#[test]
fn only_listed_programs_start() {
    if !has_landlock() {
        return;
    }
    assert_eq!(succeeds(shell("echo built in"), &tight(&[])), "built in\n");
    fails(shell("cat /etc/passwd"), &tight(&[]));
    fails(shell("exec cat /etc/passwd"), &tight(&["ls"]));
    succeeds(shell("cat /etc/passwd"), &tight(&["cat"]));
    succeeds(shell("/bin/cat /etc/passwd"), &tight(&["/bin/cat"]));
    fails(shell("cat /etc/passwd && ls /"), &tight(&["cat"]));
    // A missing program is not an error.
    succeeds(shell("true"), &tight(&["no-such-program"]));
}

#[test]
fn a_program_cannot_start_what_it_writes() {
    if !has_landlock() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let confinement = |execute| {
        Confinement::default().filesystem(FileAccess {
            write: vec![directory.path().to_owned()],
            execute,
            ..FileAccess::default()
        })
    };
    let attempt = || {
        let mut command = shell("cp /bin/true mine && chmod +x mine && ./mine");
        command.current_dir(directory.path());
        command
    };
    let listed = Execution::Only(vec!["cp".into(), "chmod".into()]);
    let error = fails(attempt(), &confinement(listed));
    assert!(error.contains("ermission denied"), "{error}");
    succeeds(attempt(), &confinement(Execution::Anything));
}

#[test]
fn anything_means_anything_readable() {
    if !has_landlock() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    executable(&program, "#!/bin/sh\necho started\n");
    let run = || shell(program.to_str().unwrap());
    let confinement = |read| {
        Confinement::default().filesystem(FileAccess {
            read,
            ..FileAccess::default()
        })
    };
    fails(run(), &confinement(Vec::new()));
    let allowed = confinement(vec![directory.path().to_owned()]);
    assert_eq!(succeeds(run(), &allowed), "started\n");
}

#[test]
fn python_starts_in_a_tight_sandbox() {
    if !has_landlock() {
        return;
    }
    let Some(python) = installed("python3") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let code = "import json, ssl, sqlite3, subprocess, sys\n\
                try:\n    subprocess.run(['/usr/bin/id'])\n\
                except PermissionError:\n    print('held')\n";
    // By name, by path, and by the first line of a script.
    for program in [Path::new("python3"), &python] {
        let mut command = Command::new(program);
        command.arg("-c").arg(code).current_dir(directory.path());
        assert_eq!(succeeds(command, &tight(&[])), "held\n", "{program:?}");
    }
    let script = directory.path().join("script");
    for line in ["#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u"] {
        executable(&script, &format!("{line}\n{code}"));
        let mut relative = Command::new("./script");
        relative.current_dir(directory.path());
        for command in [relative, Command::new(&script)] {
            assert_eq!(succeeds(command, &tight(&[])), "held\n", "{line}");
        }
    }
}

#[test]
fn every_python_in_the_path_starts_in_a_tight_sandbox() {
    if !has_landlock() {
        return;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    for directory in std::env::split_paths(&path) {
        let python = directory.join("python3");
        if python.is_file() {
            let mut command = Command::new(&python);
            command.args(["-c", "import json; print('started')"]);
            assert_eq!(succeeds(command, &tight(&[])), "started\n", "{python:?}");
        }
    }
}

#[test]
fn python_of_a_virtual_environment_starts_in_a_tight_sandbox() {
    if !has_landlock() || installed("python3").is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let environment = directory.path().join("environment");
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&environment)
        .status()
        .unwrap();
    if !made.success() {
        testkit::skip("this Python makes no virtual environments");
        return;
    }
    let mut command = Command::new(environment.join("bin/python3"));
    command.args([
        "-c",
        "import sys, json; print(sys.prefix != sys.base_prefix)",
    ]);
    assert_eq!(succeeds(command, &tight(&[])), "True\n");
}

#[test]
fn node_starts_in_a_tight_sandbox() {
    if !has_landlock() || installed("node").is_none() {
        return;
    }
    let code = "try { require('child_process').execFileSync('/usr/bin/id') } \
                catch (error) { console.log(error.code) }";
    let mut command = Command::new("node");
    command.arg("-e").arg(code);
    let confinement = tight(&[]).memory_limit(512 << 20);
    assert_eq!(succeeds(command, &confinement), "EACCES\n");
}

#[test]
fn a_rust_program_starts_in_a_tight_sandbox() {
    if !has_landlock() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--list");
    let listed = succeeds(command, &tight(&[]));
    assert!(listed.contains("a_rust_program_starts_in_a_tight_sandbox"));
}

/// Starts `/bin/true` without a path: from memory, from an open file, from one without a name.
const BY_DESCRIPTOR: &str = "
import ctypes, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
MEMFD_CREATE = {'x86_64': 319, 'aarch64': 279, 'riscv64': 279}[os.uname().machine]
EXECVEAT = {'x86_64': 322, 'aarch64': 281, 'riscv64': 281}[os.uname().machine]
how, directory = sys.argv[1:]
if how.startswith('memory'):
    descriptor = call(MEMFD_CREATE, b'x', 16 if how == 'memory-executable' else 0)
elif how == 'unnamed':
    descriptor = os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o755)
else:
    descriptor = os.open('/bin/true', os.O_RDONLY)
if descriptor < 0:
    sys.exit('refused: %s' % os.strerror(ctypes.get_errno()))
if how != 'opened':
    with open('/bin/true', 'rb') as program:
        os.write(descriptor, program.read())
    os.fchmod(descriptor, 0o755)
    again = os.open('/proc/self/fd/%d' % descriptor, os.O_RDONLY)
    os.close(descriptor)
    descriptor = again
if os.fork() == 0:
    arguments = (ctypes.c_char_p * 2)(b'true', None)
    call(EXECVEAT, descriptor, b'', arguments, None, 0x1000)
    os.execv('/proc/self/fd/%d' % descriptor, ['true'])
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
";

#[test]
fn programs_without_a_path_cannot_be_started() {
    if !has_landlock() || !super::has_call_filters() {
        return;
    }
    let Some(python) = installed("python3") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let confinement = |execute| {
        Confinement::default().filesystem(FileAccess {
            write: vec![directory.path().to_owned()],
            execute,
            ..FileAccess::default()
        })
    };
    for how in ["memory", "memory-executable", "unnamed", "opened"] {
        let attempt = || {
            let mut command = Command::new(&python);
            command
                .args(["-c", BY_DESCRIPTOR, how])
                .arg(directory.path());
            command
        };
        succeeds(attempt(), &confinement(Execution::Anything));
        let error = fails(attempt(), &confinement(Execution::Only(Vec::new())));
        let error = error.to_lowercase();
        assert!(
            error.contains("not permitted") || error.contains("permission"),
            "{how}: {error}"
        );
    }
}
