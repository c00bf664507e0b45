//! The real binary in a temporary directory: one process per service, or one for all.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use zino::kind::ServiceKind;

use crate::stack::TEST_TIMEOUT;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_zino");

const TEMPLATE: &str = "%%PERSONALITY%%\nYou can run code. Tools:\n%%TOOL_LIST%%\nSkills:\n\
    %%SKILL_LINES%%\nAt most %%MAX_ITERATIONS%% calls.\nNotes:\n%%SOFT_MEMORIES%%\n";

/// A directory with a configuration, the tools and skills of the captures, and room for sockets.
pub(crate) struct Installation(TempDir);

/// A process that does not outlive the test.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Installation {
    pub(crate) fn new(base_url: &str, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/zino/assets");
        for kind in ["tools", "skills"] {
            fs::create_dir(root.join(kind)).unwrap();
            for name in ["bash.json", "python.json"] {
                let name = format!("{kind}/{name}");
                fs::copy(assets.join(&name), root.join(&name)).unwrap();
            }
        }
        fs::write(root.join("SYSTEM.md"), TEMPLATE).unwrap();
        let sockets: String = ServiceKind::ALL
            .map(|kind| format!("{0}.socket = \"run/{0}.sock\"\n", kind.name()))
            .concat();
        let text = format!(
            "{sockets}exc.timeout = 30\nservice.model = \"fake-model\"\n\
             sys.personality = \"You are the golden tester.\"\nsys.soft_memory = \"initial note\"\n\
             api.base_url = \"{base_url}\"\napi.key = \"x\"\n{more}"
        );
        fs::write(root.join("ZINO.toml"), text).unwrap();
        Self(directory)
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn socket(&self, kind: ServiceKind) -> PathBuf {
        self.path(format!("run/{}.sock", kind.name()))
    }

    /// Returns a command for the binary, to run in this directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.program(Path::new(BINARY), arguments)
    }

    pub(crate) fn program(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("ZINO_CONFIG")
            .env_remove("ZINO_LOG_LEVEL")
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts a process with its output in a log file.
    pub(crate) fn spawn(&self, mut command: Command, name: &str) -> Process {
        let log = self.path(format!("{name}.log"));
        let file = File::options()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap();
        let output = file.try_clone().unwrap();
        let child = command.stdout(output).stderr(file).spawn().unwrap();
        Process { child, log }
    }

    pub(crate) fn start(&self, kind: ServiceKind) -> Process {
        let process = self.spawn(self.command(&[kind.name()]), kind.name());
        self.wait_for(kind, &process);
        process
    }

    pub(crate) fn start_all_but(&self, missing: &[ServiceKind]) -> Vec<Process> {
        let kinds = ServiceKind::ALL.into_iter();
        let kinds: Vec<_> = kinds.filter(|kind| !missing.contains(kind)).collect();
        let begin = |kind: &ServiceKind| self.spawn(self.command(&[kind.name()]), kind.name());
        let processes: Vec<Process> = kinds.iter().map(begin).collect();
        for (kind, process) in kinds.iter().zip(&processes) {
            self.wait_for(*kind, process);
        }
        processes
    }

    pub(crate) fn up(&self) -> Process {
        let process = self.spawn(self.command(&["up"]), "up");
        for kind in ServiceKind::ALL {
            self.wait_for(kind, &process);
        }
        process
    }

    /// Starts a Python program in place of a service.
    pub(crate) fn stand_in(&self, kind: ServiceKind) -> Process {
        let command = self.stand_in_command(kind);
        self.spawn_stand_in(kind, command)
    }

    /// Starts one whose queue holds a single caller and stays full until `go` exists.
    pub(crate) fn waiting_stand_in(&self, kind: ServiceKind, go: &str) -> Process {
        let mut command = self.stand_in_command(kind);
        command.env("STAND_IN_WAITS", self.path(go));
        self.spawn_stand_in(kind, command)
    }

    fn stand_in_command(&self, kind: ServiceKind) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stand_in.py");
        fs::create_dir_all(self.path("run")).unwrap();
        let mut command = self.program(Path::new("python3"), &[]);
        command.arg(script).arg(kind.name()).arg(self.socket(kind));
        command
    }

    fn spawn_stand_in(&self, kind: ServiceKind, command: Command) -> Process {
        let process = self.spawn(command, &format!("stand-in-{}", kind.name()));
        self.wait_for(kind, &process);
        process
    }

    pub(crate) fn wait_for(&self, kind: ServiceKind, process: &Process) {
        eventually(
            &format!("{} listens; {}", kind.name(), process.log.display()),
            || UnixStream::connect(self.socket(kind)).is_ok(),
        );
    }

    pub(crate) fn connect(&self, kind: ServiceKind) -> UnixStream {
        let stream = UnixStream::connect(self.socket(kind)).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream
    }

    pub(crate) fn begin(&self, kind: ServiceKind, request: &Value) -> UnixStream {
        let mut stream = self.connect(kind);
        stream.write_all(&frame(request)).unwrap();
        stream
    }

    /// Returns all frames of the response to `request`, up to the end of the connection.
    pub(crate) fn ask(&self, kind: ServiceKind, request: &Value) -> Vec<Value> {
        frames(self.begin(kind, request))
    }

    pub(crate) fn ask_one(&self, kind: ServiceKind, request: &Value) -> Value {
        let mut frames = self.ask(kind, request);
        assert_eq!(frames.len(), 1, "{frames:?}");
        frames.remove(0)
    }

    /// Sends `bytes` and returns the frames of the response.
    pub(crate) fn exchange(&self, kind: ServiceKind, bytes: &[u8]) -> Vec<Value> {
        let mut stream = self.connect(kind);
        stream.write_all(bytes).unwrap();
        frames(stream)
    }
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the process ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn frame(request: &Value) -> Vec<u8> {
    with_length(request.to_string().as_bytes())
}

pub(crate) fn with_length(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&length, body].concat()
}

/// The next frame, `None` at the end.
pub(crate) fn next_frame(stream: &mut UnixStream) -> Option<Value> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return None,
        Err(error) => panic!("the connection did not end cleanly: {error}"),
    }
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).unwrap();
    Some(serde_json::from_slice(&body).unwrap())
}

pub(crate) fn frames(mut stream: UnixStream) -> Vec<Value> {
    std::iter::from_fn(|| next_frame(&mut stream)).collect()
}

/// Polls until `true`, and fails when that takes too long.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}
