//! Attacks by confined programs on the agent, its files and its other processes.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use testkit::Workdir;
use testkit::process::{ORPHANS, living_orphans, orphans};

use super::{Attack, Outcome, Targets};

/// The time limit for every wait, generous because build machines are busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A secret that no attack may find.
const KEY: &str = "sk-attack-canary-2c1f";

/// Tries every call that acts on a process by its id, on every id.
const REACH: &str = include_str!("../../attacks/reach.py");

/// Starts a program without a path.
const MEMORY_PROGRAM: &str = include_str!("../../attacks/memory_program.py");

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "core-dump",
        promise: "no dump of zot, zino or glasspane can be made, whatever their limits are set to",
        run: core_dump,
    },
    Attack {
        name: "other-processes",
        promise: "a jailed command cannot limit, signal, trace or schedule a process outside",
        run: |targets| other_processes(targets, &["--jail"]),
    },
    Attack {
        name: "attributes",
        promise: "a jailed command changes no mode, owner or times of files outside",
        run: |targets| attributes(targets, &["--jail"]),
    },
    Attack {
        name: "orphans-of-bash",
        promise: "nothing that bash started outlives a zot that was killed",
        run: |targets| orphans_of_bash(targets, &[]),
    },
    Attack {
        name: "orphans-of-jailed-bash",
        promise: "nothing that jailed bash started outlives a zot that was killed",
        run: |targets| orphans_of_bash(targets, &["--jail"]),
    },
    Attack {
        name: "memory-program",
        promise: "an extension without the right to start programs starts none from memory",
        run: memory_program,
    },
];

/// A process that is killed when it is dropped.
pub(super) struct Running(pub(super) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a command for `program` in `workdir`, with a key to steal.
pub(super) fn command(program: &Path, workdir: &Workdir) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(workdir.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", workdir.path())
        .env("ZOT_HOME", workdir.zot_home())
        .env("OPENAI_API_KEY", KEY)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

/// Returns the output of zot when the offline model runs `script`.
pub(super) fn output_of(
    targets: &Targets,
    workdir: &Workdir,
    arguments: &[&str],
    script: &str,
) -> anyhow::Result<String> {
    let mut command = command(&targets.program("zot"), workdir);
    command
        .args(["--json", "--provider", "offline"])
        .args(arguments)
        .arg(format!("run: {script}"));
    let mut zot = Running(command.spawn().context("cannot start zot")?);
    let mut output = String::new();
    let stdout = zot.0.stdout.take().context("no output")?;
    // The offline model and the command exit by themselves; the command has a time limit.
    stdout.take(16 << 20).read_to_string(&mut output)?;
    Ok(output)
}

pub(super) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        if Instant::now() > deadline {
            bail!("timed out: {what}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

pub(super) fn pid_of(child: &Child) -> anyhow::Result<Pid> {
    let number = i32::try_from(child.id())?;
    Pid::from_raw(number).context("no such process")
}

fn core_dump(targets: &Targets) -> anyhow::Result<Outcome> {
    let mut dumped = Vec::new();
    let mut raised = 0;
    for (program, arguments) in [
        ("zot", &["rpc", "--provider", "offline"][..]),
        ("zino", &["up"][..]),
        ("glasspane", &["tail"][..]),
    ] {
        let workdir = Workdir::new("work");
        if program == "zino" {
            let mut init = command(&targets.program(program), &workdir);
            init.arg("init").stdout(Stdio::null()).status()?;
        }
        let mut child = command(&targets.program(program), &workdir);
        child.args(arguments).stdin(Stdio::piped());
        let mut child = Running(
            child
                .spawn()
                .with_context(|| format!("cannot start {program}"))?,
        );
        let pid = pid_of(&child.0)?;
        // The program disables dumps first; until then it has our limit.
        let limits = format!("/proc/{}/limits", child.0.id());
        wait_until("it has forbidden dumps", || {
            let limits = fs::read_to_string(&limits).unwrap_or_default();
            let core = limits
                .lines()
                .find(|line| line.starts_with("Max core file size"));
            core.is_some_and(|line| line.split_whitespace().skip(4).take(2).eq(["0", "0"]))
        })?;
        raised += usize::from(allow_core_dumps(pid));
        std::thread::sleep(Duration::from_millis(300));
        kill_process(pid, Signal::ABORT)?;
        let status = child.0.wait()?;
        let has_file = fs::read_dir(workdir.path())?
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("core"));
        if status.core_dumped() || has_file {
            dumped.push(program);
        }
    }
    Ok(match dumped.is_empty() {
        true => Outcome::Held(format!(
            "0 dumps of 3 programs; the limit could be raised for {raised}"
        )),
        false => Outcome::Broken(format!("dumps of {dumped:?}")),
    })
}

pub(super) fn other_processes(targets: &Targets, arguments: &[&str]) -> anyhow::Result<Outcome> {
    let workdir = Workdir::new("work");
    fs::write(workdir.path().join("reach.py"), REACH)?;
    let output = output_of(targets, &workdir, arguments, "python3 reach.py")?;
    let (_, rest) = output
        .split_once("reached=")
        .with_context(|| format!("the attack did not run: {output}"))?;
    let count: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Ok(match count.as_str() {
        "0" => Outcome::Held("0 of 70,000 process numbers reached by 7 calls".to_owned()),
        count => Outcome::Broken(format!("{count} processes reached")),
    })
}

pub(super) fn attributes(targets: &Targets, arguments: &[&str]) -> anyhow::Result<Outcome> {
    let workdir = Workdir::new("work");
    let beside = workdir.parent().join("beside");
    fs::write(&beside, "x")?;
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o600))?;
    let state = || -> anyhow::Result<_> {
        let found = fs::metadata(&beside)?;
        Ok((found.mode(), found.uid(), found.mtime(), found.ctime_nsec()))
    };
    let before = state()?;
    let attempts = "chmod 777 ../beside; touch -d @1 ../beside; chown 1:1 ../beside; \
                    setfattr -n user.x -v y ../beside; chmod 777 ..; touch ../beside; \
                    : > inside; chmod 711 inside && echo done=$(stat -c %a inside)";
    fs::write(workdir.path().join("attempts.sh"), attempts)?;
    let output = output_of(targets, &workdir, arguments, "sh attempts.sh")?;
    if state()? != before {
        return Ok(Outcome::Broken(format!(
            "{:?} became {:?}",
            before,
            state()?
        )));
    }
    let works = match output.contains("done=711") {
        true => "inside it works",
        false => "inside it is refused as well",
    };
    Ok(Outcome::Held(format!("0 of 6 changes outside; {works}")))
}

pub(super) fn orphans_of_bash(targets: &Targets, arguments: &[&str]) -> anyhow::Result<Outcome> {
    let workdir = Workdir::new("work");
    let marker = format!("88{}.{}", arguments.len(), std::process::id());
    let script = format!("{}\nsleep 300", orphans(&marker));
    fs::write(workdir.path().join("orphans.sh"), script)?;
    let mut zot = command(&targets.program("zot"), &workdir);
    zot.args(["--json", "--provider", "offline"])
        .args(arguments)
        .arg("run: sh orphans.sh")
        .stdout(Stdio::null());
    let mut zot = Running(zot.spawn().context("cannot start zot")?);
    wait_until("the command has started all of them", || {
        living_orphans(&marker) == ORPHANS
    })?;
    let killed = Instant::now();
    zot.0.kill()?;
    zot.0.wait()?;
    let gone = wait_until("they are gone", || living_orphans(&marker) == 0);
    let left = living_orphans(&marker);
    Ok(match gone {
        Ok(()) => Outcome::Held(format!(
            "0 of {ORPHANS} left, {} ms after kill -9",
            killed.elapsed().as_millis()
        )),
        Err(_) => Outcome::Broken(format!("{left} of {ORPHANS} left")),
    })
}

/// Returns the system's Python: one in the user's home may be a shim that starts other programs.
pub(super) fn python() -> &'static str {
    let of_system = "/usr/bin/python3";
    match Path::new(of_system).exists() {
        true => of_system,
        false => "python3",
    }
}

fn memory_program(targets: &Targets) -> anyhow::Result<Outcome> {
    let workdir = Workdir::new("work");
    let directory = workdir.path().join("extension");
    let report = workdir.path().join("report");
    fs::create_dir(&directory)?;
    fs::write(&report, "")?;
    let manifest = serde_json::json!({
        "name": "memory", "version": "1", "exec": python(),
        "args": ["attack.py", &report],
        "permissions": { "exec": false, "fs_write": [&report] },
    });
    fs::write(directory.join("extension.json"), manifest.to_string())?;
    fs::write(directory.join("attack.py"), MEMORY_PROGRAM)?;
    let mut zot = command(&targets.program("zot"), &workdir);
    zot.args(["--json", "--provider", "offline", "--no-ext", "--ext"])
        .arg(&directory)
        .arg("hello");
    let _zot = Running(zot.spawn().context("cannot start zot")?);
    wait_until("the extension has tried", || {
        fs::read_to_string(&report).is_ok_and(|text| text.ends_with("end\n"))
    })?;
    let text = fs::read_to_string(&report)?;
    let started: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("started"))
        .collect();
    let tried = text.lines().count() - 1;
    Ok(match started.is_empty() {
        true => Outcome::Held(format!("0 of {tried} ways started a program")),
        false => Outcome::Broken(started.join(", ")),
    })
}

/// Raises the limit on core dumps of another process; returns whether that was possible.
#[cfg(target_os = "linux")]
fn allow_core_dumps(pid: Pid) -> bool {
    use rustix::process::{Resource, Rlimit, prlimit};

    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    prlimit(Some(pid), Resource::Core, unlimited).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn allow_core_dumps(_pid: Pid) -> bool {
    false
}
