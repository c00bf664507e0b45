//! Images in the chat, in a terminal that the test simulates.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use testkit::Workdir;

use crate::support::binary;
use crate::terminal::need_tmux;

const PATIENCE: Duration = Duration::from_secs(20);

/// 32×16 pixels.
const JPEG: &[u8] = include_bytes!("../../../zot-tui/src/image/tests/halves.jpg");

const SIXEL: &str = "\u{1b}P0;1;0q\"1;1;32;16";

/// A terminal of 100×30 cells of 10×20 pixels, whose screen is what was written to it.
struct Played {
    keyboard: File,
    written: Arc<Mutex<Vec<u8>>>,
    child: Child,
    workdir: Workdir,
}

impl Played {
    /// Starts zot in it with a prompt about an image.
    fn open(variables: &[(&str, &str)], prompt: &str) -> Self {
        let workdir = Workdir::with_files("work");
        let mut command = Command::new(binary());
        command.args(["--provider", "offline", prompt]);
        Self::start(workdir, command, variables)
    }

    fn start(workdir: Workdir, mut command: Command, variables: &[(&str, &str)]) -> Self {
        workdir.write("halves.jpg", JPEG);
        let keyboard: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let size = Winsize {
            ws_row: 30,
            ws_col: 100,
            ws_xpixel: 1_000,
            ws_ypixel: 600,
        };
        tcsetwinsize(&keyboard, size).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let name = name.to_str().unwrap();
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(name)
                .unwrap()
        };
        let child = command
            .current_dir(workdir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", workdir.home())
            .env("ZOT_HOME", workdir.zot_home())
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .envs(variables.iter().copied())
            .stdin(open())
            .stdout(open())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keyboard = File::from(keyboard);
        let written = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, sink) = (keyboard.try_clone().unwrap(), Arc::clone(&written));
        // Ends when the terminal is closed.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                sink.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self {
            keyboard,
            written,
            child,
            workdir,
        }
    }

    fn send(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait_for_times(text, 1)
    }

    fn wait_for_times(&self, text: &str, times: usize) -> String {
        let started = Instant::now();
        loop {
            let written = self.written();
            if written.matches(text).count() >= times {
                return written;
            }
            let what = format!("{text:?} did not come {times} times:\n{written:?}");
            assert!(started.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn leave(mut self) {
        self.send("/exit\r");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_terminal_that_supports_sixels_gets_them() {
    let mut terminal = Played::open(&[], "what is on @halves.jpg ?");
    // The terminal responds late and in pieces; the image and everything after it wait.
    let written = terminal.wait_for("what is on");
    assert!(written.contains("\u{1b}[c"), "{written:?}");
    assert!(!written.contains("\u{1b}[16t"), "{written:?}");
    terminal.send("\u{1b}[?6");
    terminal.send("2;4;22c");
    let written = terminal.wait_for(SIXEL);
    let (before, _) = written.split_once(SIXEL).unwrap();
    assert!(before.contains("[halves.jpg image 295 B]"), "{before:?}");
    assert!(!before.contains("stand-in"), "{before:?}");
    let written = terminal.wait_for("stand-in");
    assert_eq!(written.matches(SIXEL).count(), 1);
    // Redrawing the screen redraws the image.
    terminal.send("\u{f}");
    terminal.wait_for_times(SIXEL, 2);
    terminal.send("typed");
    let written = terminal.wait_for("typed");
    assert!(!written.contains("62;4"), "{written:?}");
    terminal.send("\u{15}");
    terminal.leave();
}

#[test]
fn a_terminal_without_images_gets_a_description() {
    let mut terminal = Played::open(&[], "what is on @halves.jpg ?");
    terminal.wait_for("\u{1b}[c");
    terminal.send("\u{1b}[?62;22c");
    terminal.wait_for("[halves.jpg image 295 B]");
    let written = terminal.wait_for("stand-in");
    assert!(!written.contains("\u{1b}P"), "{written:?}");
    terminal.leave();
}

#[test]
fn a_damaged_image_is_described_and_the_chat_continues() {
    let mut terminal = Played::open(&[], "");
    terminal.wait_for("\u{1b}[c");
    terminal.send("\u{1b}[?62;4c");
    let mut bomb = testkit::IMAGE;
    bomb[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    terminal.workdir.write("bomb.png", bomb);
    terminal.workdir.write("cut.jpg", &JPEG[..200]);
    terminal.send("show @bomb.png and @cut.jpg now\r");
    terminal.wait_for("[bomb.png image 73 B]");
    let written = terminal.wait_for("stand-in");
    assert!(!written.contains("\u{1b}P"), "{written:?}");
    terminal.leave();
}

#[test]
fn kitty_gets_a_photograph_in_its_format() {
    let terminal = Played::open(&[("TERM", "xterm-kitty")], "what is on @halves.jpg ?");
    let written = terminal.wait_for("stand-in");
    assert!(written.contains("\u{1b}_Ga=t,f=100,q=2,i="), "{written:?}");
    assert!(written.contains(",C=1,c=4,r=1\u{1b}\\"), "{written:?}");
    terminal.leave();
}

/// Ends tmux, even if the test fails.
struct TmuxServer(PathBuf);

impl Drop for TmuxServer {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.arg("-S").arg(&self.0).arg("kill-server").output();
    }
}

/// The real tmux, in a terminal that claims to be kitty.
#[test]
fn kitty_around_tmux_gets_the_image_and_tmux_the_text() {
    need_tmux();
    let workdir = Workdir::with_files("work");
    std::fs::create_dir_all(workdir.zot_home()).unwrap();
    let settings = workdir.zot_home().join("tmux.conf");
    let lines =
        "set -g default-shell /bin/sh\nset -g allow-passthrough on\nset -s escape-time 10\n";
    std::fs::write(&settings, lines).unwrap();
    let socket = workdir.zot_home().join("tmux.socket");
    let _server = TmuxServer(socket.clone());
    let mut command = Command::new("tmux");
    command
        .arg("-u")
        .arg("-S")
        .arg(&socket)
        .arg("-f")
        .arg(settings);
    command
        .arg("new-session")
        .arg(format!("{} --provider offline", binary().display()));
    let mut terminal = Played::start(workdir, command, &[]);
    terminal.wait_for("\u{1b}[>q");
    terminal.send("\u{1b}[?62;22c\u{1b}[>1;4000;29c\u{1b}P>|kitty(0.38.0)\u{1b}\\");
    terminal.wait_for("/help");
    terminal.send("what is on @halves.jpg ?\r");
    terminal.wait_for("stand-in");
    let written = terminal.wait_for("\u{10eeee}\u{305}\u{310}");
    assert!(
        written.contains("\u{1b}_Ga=T,U=1,f=100,q=2,i="),
        "{written:?}"
    );
    // One row of four cells.
    for outside in ["\u{10eeee}\u{305}\u{312}", "\u{10eeee}\u{30d}"] {
        assert!(!written.contains(outside), "{written:?}");
    }
    terminal.send("/exit\r");
    assert!(terminal.child.wait().unwrap().success());
}
