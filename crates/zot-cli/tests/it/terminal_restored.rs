//! Whatever ends the chat, the settings and modes of the terminal are restored.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use testkit::{ModelServer, Wire, Workdir};

use crate::support::binary;

const PATIENCE: Duration = Duration::from_secs(20);

/// zot on a terminal whose output is recorded.
struct Screen {
    zot: Child,
    /// The other end; closing it closes the terminal.
    master: Option<File>,
    watcher: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
    kept: File,
    written: Arc<Mutex<Vec<u8>>>,
    before: String,
    workdir: Workdir,
    _server: ModelServer,
}

impl Screen {
    fn open(arguments: &[&str], prepare: impl FnOnce(&Workdir)) -> Self {
        let (server, workdir) = (ModelServer::start(), Workdir::with_files("work"));
        std::fs::create_dir_all(workdir.zot_home()).unwrap();
        prepare(&workdir);
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        fcntl_setfd(&master, FdFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal = || {
            let path = name.to_str().unwrap();
            File::options().read(true).write(true).open(path).unwrap()
        };
        let kept = terminal();
        let before = format!("{:?}", tcgetattr(&kept).unwrap());
        let model = [
            "--provider".to_owned(),
            "openai".to_owned(),
            "--model=gpt-4o".to_owned(),
            "--api-key=x".to_owned(),
            format!("--base-url={}", server.url(Wire::OpenAi)),
        ];
        let zot = Command::new(binary())
            .args(model)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm-256color")
            .env("HOME", workdir.home())
            .env("ZOT_HOME", workdir.zot_home())
            .current_dir(workdir.path())
            .stdin(Stdio::from(terminal()))
            .stdout(Stdio::from(terminal()))
            .stderr(Stdio::from(terminal()))
            .spawn()
            .unwrap();
        let master = File::from(master);
        let written = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, sink) = (master.try_clone().unwrap(), Arc::clone(&written));
        let is_over = Arc::new(AtomicBool::new(false));
        let told_over = Arc::clone(&is_over);
        let watcher = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            let pause = Timespec {
                tv_sec: 0,
                tv_nsec: 20_000_000,
            };
            while !told_over.load(Ordering::Relaxed) {
                let mut ready = [PollFd::new(&reader, PollFlags::IN)];
                if !matches!(poll(&mut ready, Some(&pause)), Ok(1)) {
                    continue;
                }
                let Ok(count @ 1..) = reader.read(&mut buffer) else {
                    break;
                };
                sink.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            zot,
            master: Some(master),
            watcher: Some(watcher),
            is_over,
            kept,
            written,
            before,
            workdir,
            _server: server,
        }
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, text: &str) {
        let started = Instant::now();
        while !self.written().contains(text) {
            assert!(
                started.elapsed() < PATIENCE,
                "{text:?}: {:?}",
                self.written()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn type_bytes(&mut self, bytes: &[u8]) {
        self.master.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Closes the terminal, like its window.
    fn hang_up(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.watcher.take().unwrap().join().unwrap();
        self.master = None;
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.zot.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.zot.try_wait().unwrap() {
                return status;
            }
            if started.elapsed() > PATIENCE {
                let _ = self.zot.kill();
                panic!("it did not end: {:?}", self.written());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn assert_restored(&self, how: &str) {
        let now = format!("{:?}", tcgetattr(&self.kept).unwrap());
        assert_eq!(now, self.before, "{how}");
        // The last bytes may still be in transit.
        let started = Instant::now();
        while let Err(problem) = modes_after(&self.written()) {
            assert!(
                started.elapsed() < PATIENCE,
                "{how}: {problem}: {:?}",
                self.written()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.zot.kill();
        let _ = self.zot.wait();
    }
}

/// Returns the modes that are still set.
fn modes_after(written: &str) -> Result<(), String> {
    let (mut modes, mut keyboards, mut is_styled) = (BTreeSet::new(), 0, false);
    let mut is_cursor_shown = true;
    for sequence in written.split("\x1b[").skip(1) {
        let Some(end) = sequence.find(|c: char| c.is_ascii_alphabetic()) else {
            return Err(format!("a sequence does not end: {sequence:?}"));
        };
        let parameters = &sequence[..end];
        match (parameters.strip_prefix('?'), &sequence[end..=end]) {
            (Some("25"), set) => is_cursor_shown = set == "h",
            (Some(mode), "h") => drop(modes.insert(mode.to_owned())),
            (Some(mode), "l") => drop(modes.remove(mode)),
            (None, "u") if parameters.starts_with('>') => keyboards += 1,
            (None, "u") if parameters.starts_with('<') => keyboards -= 1,
            (None, "m") => is_styled = parameters != "0",
            _ => {}
        }
    }
    match (modes.is_empty(), keyboards, is_cursor_shown, is_styled) {
        (true, 0, true, false) => Ok(()),
        left => Err(format!("left behind: {left:?}, {modes:?}")),
    }
}

#[test]
fn settings_and_modes_are_restored_whatever_ends_the_chat() {
    type End = fn(&mut Screen);
    let endings: [(&str, i32, End); 6] = [
        ("/exit", 0, |screen| screen.type_bytes(b"/exit\r")),
        ("ctrl+d", 0, |screen| screen.type_bytes(b"\x04")),
        ("SIGTERM", 143, |screen| screen.signal(Signal::TERM)),
        ("SIGHUP", 129, |screen| screen.signal(Signal::HUP)),
        ("SIGTERM while an answer comes", 143, |screen| {
            screen.type_bytes(b"slow:2000:5\r");
            screen.wait_for("alpha beta");
            screen.signal(Signal::TERM);
        }),
        ("SIGHUP in a list", 129, |screen| {
            screen.type_bytes(b"/mod");
            screen.wait_for("choose another model");
            screen.signal(Signal::HUP);
        }),
    ];
    for (how, code, end) in endings {
        let mut screen = Screen::open(&[], |_| {});
        screen.wait_for("/help");
        assert_ne!(
            format!("{:?}", tcgetattr(&screen.kept).unwrap()),
            screen.before
        );
        end(&mut screen);
        let status = screen.wait();
        use std::os::unix::process::ExitStatusExt as _;
        let outcome = status.code().or(status.signal().map(|signal| 128 + signal));
        assert_eq!(outcome, Some(code), "{how}");
        screen.assert_restored(how);
    }
}

#[test]
fn a_closed_terminal_ends_the_chat() {
    for prompt in [&b""[..], b"slow:100000:1\r"] {
        let mut screen = Screen::open(&[], |_| {});
        screen.wait_for("/help");
        screen.type_bytes(prompt);
        if !prompt.is_empty() {
            screen.wait_for("alpha beta");
        }
        screen.hang_up();
        screen.wait();
    }
}

#[test]
fn an_unwritable_history_disturbs_nothing() {
    let mut screen = Screen::open(&[], |workdir| {
        std::fs::create_dir(workdir.zot_home().join("history.jsonl")).unwrap();
    });
    screen.wait_for("/help");
    screen.type_bytes(b"say:3\r");
    screen.wait_for("history.jsonl");
    screen.wait_for("alpha");
    screen.type_bytes(b"\x04");
    assert_eq!(screen.wait().code(), Some(0));
    screen.assert_restored("without a history");
    assert!(screen.workdir.zot_home().join("history.jsonl").is_dir());
}

/// Without a terminal no chat is opened, and no escape sequences are written.
#[test]
fn without_a_terminal_there_is_no_chat() {
    let workdir = Workdir::with_files("work");
    let zot = Command::new(binary())
        .args(["--provider", "offline"])
        .env("HOME", workdir.home())
        .env("ZOT_HOME", workdir.zot_home())
        .current_dir(workdir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let outcome = [zot.stdout, zot.stderr].concat();
    assert!(
        !outcome.contains(&0x1b),
        "{:?}",
        String::from_utf8_lossy(&outcome)
    );
}
