//! Runs an attempt, in a sandbox or as a plain child.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use zot_process::sandbox::{
    ConnectRule, Level, Limits, Obstacles, Policy, Rules, Sandbox, Surroundings,
};
use zot_process::{Outcome, OutputSink, ProcessGroup, RunLimits, run};

use crate::attempt::{After, Attempt, Category, Rights};
use crate::modes::Mode;
use crate::world::World;

const PRELUDE: &str = include_str!("attempts/prelude.py");

/// The time limit of an attempt, which none should reach.
const PATIENCE: Duration = Duration::from_secs(40);

/// The time limit of one that wants to reach it.
const IMPATIENCE: Duration = Duration::from_millis(500);

/// Returns the system's Python: one in the home directory may be a script that starts other programs.
pub(crate) fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let directories = std::env::split_paths(&path);
        ["/usr/bin".into(), "/usr/local/bin".into()]
            .into_iter()
            .chain(directories)
            .map(|directory: PathBuf| directory.join("python3"))
            .find(|path| path.is_file())
            .expect("python3 is missing: apt-get install python3")
    })
}

/// What an attempt printed, how it ended, and what its sandbox says about it.
pub(crate) struct Ran {
    pub(crate) output: String,
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) obstacles: Obstacles,
}

pub(crate) fn command(
    category: &Category,
    attempt: &Attempt,
    world: &World,
    mode: Mode,
    other_proxy: Option<u16>,
) -> Command {
    let mut facts = world.facts(mode);
    facts["other_proxy"] = other_proxy.into();
    let code = format!("{PRELUDE}\n{}\nmain({})\n", category.source, attempt.name);
    let mut command = Command::new(python());
    command
        .args(["-I", "-S", "-c"])
        .arg(code)
        .arg(attempt.name)
        .arg(facts.to_string())
        .current_dir(world.workspace());
    if mode == Mode::Off {
        command.env("HOME", world.path("home"));
    }
    command
}

pub(crate) fn sandbox(attempt: &Attempt, world: &World, mode: Mode) -> Sandbox {
    let level = match (mode, attempt.rights) {
        (Mode::Off, _) => Level::Off,
        (_, Rights::ReadOnly) => Level::ReadOnly,
        _ => Level::Workspace,
    };
    let mut rules = Rules {
        read: world.readable(),
        ..Rules::default()
    };
    if level != Level::Off {
        match attempt.rights {
            Rights::Workspace | Rights::ReadOnly => {}
            Rights::Hosts => rules.connect = hosts(&["allowed.test", "*.below.test"]),
            Rights::OneProgram => rules.run = Some(vec![python().to_owned()]),
            Rights::Limited => {
                rules.limits = Limits {
                    memory_bytes: Some(300 << 20),
                    processes: Some(40),
                    processor_seconds: Some(1),
                    open_files: None,
                }
            }
        }
    }
    let surroundings = Surroundings {
        workspace: world.workspace(),
        home: Some(world.path("home")),
        scratch: world.path("scratch"),
        hidden: vec![world.path("readable/hidden")],
        withheld: vec![
            "ANTHROPIC_API_KEY".to_owned(),
            "ANTHROPIC_OAUTH_*".to_owned(),
        ],
        without_namespaces: mode == Mode::Alone,
        ..Surroundings::default()
    };
    Sandbox::new(Policy { level, rules }, surroundings).unwrap()
}

fn hosts(texts: &[&str]) -> Vec<ConnectRule> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Another sandbox, which lets its commands go where those of the attempt's sandbox may not.
struct OtherSandbox {
    proxy_port: u16,
    _sandbox: Sandbox,
    _scratch: tempfile::TempDir,
}

fn other_sandbox(world: &World) -> OtherSandbox {
    let scratch = tempfile::tempdir().unwrap();
    let policy = Policy {
        level: Level::Workspace,
        rules: Rules {
            connect: hosts(&["evil.test"]),
            ..Rules::default()
        },
    };
    let surroundings = Surroundings {
        workspace: world.workspace(),
        scratch: scratch.path().to_owned(),
        ..Surroundings::default()
    };
    let sandbox = Sandbox::new(policy, surroundings).unwrap();
    let mut command = Command::new("/bin/true");
    command.current_dir(world.workspace());
    let mut prepared = sandbox.prepare(command).unwrap();
    let mut variables = prepared.command.command_mut().get_envs();
    let address = variables.find(|(name, _)| *name == "HTTP_PROXY").unwrap();
    let port = address.1.unwrap().to_str().unwrap().rsplit(':').next();
    OtherSandbox {
        proxy_port: port.unwrap().parse().unwrap(),
        _sandbox: sandbox,
        _scratch: scratch,
    }
}

/// Runs the attempt in its sandbox.
pub(crate) fn run_confined(
    category: &Category,
    attempt: &Attempt,
    world: &World,
    mode: Mode,
) -> Ran {
    let sandbox = sandbox(attempt, world, mode);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let leak = leak(world);
    let has_other = attempt.name == "proxy_of_other_sandbox" && mode == Mode::Namespaces;
    let other = has_other.then(|| other_sandbox(world));
    let other_proxy = other.as_ref().map(|other| other.proxy_port);
    let prepared = sandbox
        .prepare(command(category, attempt, world, mode, other_proxy))
        .unwrap_or_else(|error| panic!("{} cannot be prepared: {error}", attempt.name));
    let over = AtomicBool::new(false);
    let workspace = world.workspace();
    let mut ran = std::thread::scope(|scope| {
        if attempt.after == After::Connects {
            scope.spawn(|| connect_from_outside(&workspace, &over));
        }
        let ran = match category.name {
            "terminal" => runtime.block_on(run_at_terminal(prepared.command)),
            _ => runtime
                .block_on(run_with_limit(prepared.command, attempt))
                .unwrap_or_else(|error| panic!("{} cannot be started: {error}", attempt.name)),
        };
        over.store(true, Ordering::Relaxed);
        ran
    });
    drop(leak);
    if attempt.after == After::AnotherCommand {
        let mut next = Command::new("/bin/true");
        next.current_dir(world.workspace());
        // It may be refused, but must change nothing outside.
        if let Ok(next) = sandbox.prepare(next) {
            let _ = runtime.block_on(run_with_limit(next.command, attempt));
        }
    }
    ran.obstacles = sandbox.obstacles(&prepared.run);
    ran
}

/// Opens a file with the secret that a child would inherit.
fn leak(world: &World) -> File {
    let file = File::open(world.path("outside/secret")).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    file
}

struct Collected(Vec<u8>);

impl OutputSink for Collected {
    async fn accept(&mut self, chunk: &[u8]) {
        self.0.extend_from_slice(chunk);
    }
}

async fn run_with_limit(
    command: impl Into<zot_process::launch::Confined>,
    attempt: &Attempt,
) -> std::io::Result<Ran> {
    let limits = RunLimits {
        time: match attempt.after {
            After::TimesOut => IMPATIENCE,
            _ => PATIENCE,
        },
        termination_grace: Duration::from_millis(200),
    };
    let mut output = Collected(Vec::new());
    let completion = run(command, limits, &CancellationToken::new(), &mut output).await?;
    let status = match completion.outcome {
        Outcome::Exited(status) => status,
        Outcome::TimedOut | Outcome::Cancelled => None,
    };
    Ok(Ran {
        output: String::from_utf8_lossy(&output.0).into_owned(),
        signal: status.and_then(|status| status.signal()),
        timed_out: completion.outcome == Outcome::TimedOut,
        obstacles: Obstacles::default(),
    })
}

/// Runs the command with the terminal of this process as its standard input.
async fn run_at_terminal(mut command: zot_process::launch::Confined) -> Ran {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let terminal = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    command
        .command_mut()
        .stdin(terminal)
        .stdout(writer.try_clone().unwrap())
        .stderr(writer);
    let group = ProcessGroup::spawn(command).unwrap();
    let reading = std::thread::spawn(move || {
        let mut output = Vec::new();
        reader.read_to_end(&mut output).unwrap();
        output
    });
    let end = group.close().await;
    Ran {
        output: String::from_utf8_lossy(&reading.join().unwrap()).into_owned(),
        signal: end.status.and_then(|status| status.signal()),
        timed_out: false,
        obstacles: Obstacles::default(),
    }
}

/// Runs the attempt as a child like any other.
pub(crate) fn run_plain(category: &Category, attempt: &Attempt, world: &World) -> Ran {
    let leak = leak(world);
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = command(category, attempt, world, Mode::Off, None);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer)
        .spawn()
        .unwrap();
    drop(command);
    let deadline = Instant::now()
        + match attempt.after {
            After::TimesOut => IMPATIENCE,
            _ => PATIENCE,
        };
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    drop(leak);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut chunk = vec![0; 1 << 16];
        while let Ok(count @ 1..) = reader.read(&mut chunk) {
            if sender.send(chunk[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    // A process that was left may keep the output open. What was printed before counts.
    let mut output = Vec::new();
    while let Ok(chunk) = receiver.recv_timeout(Duration::from_secs(1)) {
        output.extend(chunk);
    }
    Ran {
        output: String::from_utf8_lossy(&output).into_owned(),
        signal: status.and_then(|status| status.signal()),
        timed_out: status.is_none(),
        obstacles: Obstacles::default(),
    }
}

/// Tries to reach a server of the attempt, as a program of the user would.
fn connect_from_outside(workspace: &Path, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(5));
        let port = std::fs::read_to_string(workspace.join("port")).unwrap_or_default();
        if let Ok(port) = port.parse::<u16>()
            && let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        {
            let _ = stream.write_all(b"from outside");
        }
        if let Ok(mut stream) = UnixStream::connect(workspace.join("ours.socket")) {
            let _ = stream.write_all(b"from outside");
        }
    }
}
