//! Standard streams that are no pipes.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use testkit::{ModelServer, Workdir};

use super::{ENDING, Process, prompt, rpc};

/// One end for the test, one for zot; Node.js connects children this way.
fn socket() -> (UnixStream, OwnedFd) {
    let (ours, theirs) = UnixStream::pair().expect("make a pair of sockets");
    (ours, theirs.into())
}

#[test]
fn a_reader_on_a_socket_that_goes_away_ends_the_process() {
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
