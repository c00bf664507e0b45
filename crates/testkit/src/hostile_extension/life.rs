//! Odd lifecycles.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process, setsid};
use serde_json::json;

use super::peer::Peer;

pub(super) fn run(behaviour: &str, peer: &Peer) -> bool {
    match behaviour {
        "exits-at-once" => {}
        "exits-after-hello" => {
            peer.greet("bad");
            std::process::abort();
        }
        "leaves-after-hello" => peer.greet("bad"),
        "mute" => peer.sleep(),
        // Never ready, and never silent long enough to count as ready.
        "never-ready" => {
            peer.hello();
            while peer.send(&json!({"type": "notify", "level": "info", "message": "soon"})) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        // Started with SIGTERM ignored.
        "stubborn" => {
            peer.greet("bad");
            peer.sleep();
        }
        "closes-stdout" => {
            peer.greet("bad");
            rustix::stdio::dup2_stdout(nothing()).expect("replace standard output");
            peer.sleep();
        }
        "closes-stdin" => {
            peer.greet("bad");
            rustix::stdio::dup2_stdin(nothing()).expect("replace standard input");
            peer.sleep();
        }
        "stops-itself" => {
            peer.greet("bad");
            let _ = kill_process(getpid(), Signal::STOP);
        }
        "daemon" => {
            spawn("daemon-child");
            peer.greet("bad");
        }
        "daemon-child" => {
            setsid().expect("leave the group");
            peer.sleep();
        }
        "children" => {
            (0..3).for_each(|_| spawn("child"));
            peer.when_called(|id| {
                peer.result(id, "done");
            });
        }
        "abandons-children" => {
            (0..3).for_each(|_| spawn("child"));
            peer.greet("bad");
        }
        "fork-bomb" => {
            peer.greet("bad");
            (0..200).for_each(|_| spawn("child"));
            peer.serve(|_| {});
        }
        "child" => peer.sleep(),
        _ => return false,
    }
    true
}

fn nothing() -> File {
    File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .expect("open /dev/null")
}

/// Starts this program again with the same marker; the child keeps our output open.
#[expect(
    clippy::zombie_processes,
    reason = "zot has to clean up; that is the point"
)]
fn spawn(behaviour: &str) {
    let program = std::env::current_exe().expect("know this program");
    let marker = std::env::args().nth(2).unwrap_or_default();
    Command::new(program)
        .args([behaviour, &marker])
        .stdin(Stdio::null())
        .spawn()
        .expect("start another process");
}
