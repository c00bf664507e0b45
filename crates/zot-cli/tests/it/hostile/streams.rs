//! Standard streams that are not pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use testkit::{ModelServer, Workdir};

use super::{ENDING, Process, one_shot, prompt, rpc};

/// Returns one end for the test and one for zot; Node.js connects children like this.
fn socket() -> (UnixStream, OwnedFd) {
    let (ours, theirs) = UnixStream::pair().expect("make a pair of sockets");
    (ours, theirs.into())
}

#[test]
fn closing_an_output_socket_ends_the_process() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let ((mut input, stdin), (output, stdout)) = (socket(), socket());
    let mut command = rpc(&server, &workdir);
    let mut zot = Process::start(command.stdin(stdin).stdout(stdout));
    drop(command);
    let waiting = prompt(r#"tool:bash:{"command":"echo start; sleep 300"}"#);
    input.write_all(waiting.as_bytes()).unwrap();
    let mut lines = BufReader::new(output).lines();
    let running = lines.find(|line| line.as_ref().is_ok_and(|l| l.contains("tool_progress")));
    assert!(running.is_some());
    drop(lines);
    assert_eq!(zot.wait(ENDING).code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut rpc = rpc(&server, &workdir);
    let mut zot = Process::start(rpc.stdin(Stdio::piped()).stdout(full()));
    let mut stdin = zot.0.stdin.take().unwrap();
    stdin.write_all(b"{\"type\":\"ping\"}\n").unwrap();
    assert_eq!(zot.wait(ENDING).code(), Some(1));
    let expected = "zot: cannot write standard output: No space left on device (os error 28)\n";
    assert_eq!(zot.stderr(), expected);
    for mode in ["-p", "--json"] {
        let mut command = one_shot(&server, &workdir, [mode, "say:1"]);
        let mut zot = Process::start(command.stdout(full()));
        assert_eq!(zot.wait(ENDING).code(), Some(1));
        assert_eq!(zot.stderr(), expected);
    }
}

#[test]
fn unreadable_input_is_reported() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut command = rpc(&server, &workdir);
    let directory = File::open(workdir.path()).unwrap();
    let mut zot = Process::start(command.stdin(directory).stdout(Stdio::null()));
    assert_eq!(zot.wait(ENDING).code(), Some(1));
    let stderr = zot.stderr();
    assert!(
        stderr.starts_with("zot: cannot read standard input: "),
        "{stderr}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn input_can_be_typed_at_a_terminal_that_hangs_up() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = || {
        let path = name.to_str().unwrap();
        File::options().read(true).write(true).open(path).unwrap()
    };
    let mut command = rpc(&server, &workdir);
    let mut zot = Process::start(command.stdin(terminal()).stdout(terminal()));
    drop(command);
    let mut master = File::from(master);
    master
        .write_all(b"{\"id\":\"typed\",\"type\":\"ping\"}\n")
        .unwrap();
    let mut lines = BufReader::new(master.try_clone().unwrap()).lines();
    let pong = lines.find(|line| line.as_ref().is_ok_and(|l| l.contains("\"pong\":true")));
    assert!(pong.is_some());
    drop((lines, master));
    // The end of input and the closed reader are noticed in either order; neither is a failure of
    // the system.
    zot.wait(ENDING);
    let stderr = zot.stderr();
    assert!(!stderr.contains("os error"), "{stderr}");
}
