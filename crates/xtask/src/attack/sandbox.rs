//! Attacks by commands and extensions that run with `--sandbox workspace`.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Signal, kill_process};
use testkit::Workdir;
use testkit::process::{ORPHANS, living_orphans, orphans};

use super::isolation::{
    Running, attributes, command, orphans_of_bash, other_processes, output_of, pid_of, python,
    wait_until,
};
use super::{Attack, Outcome, Targets};

/// What a program tries on files and the network.
const SANDBOXED: &str = include_str!("../../attacks/sandboxed.py");

/// An extension that runs a script and then waits.
const EXTENSION: &str = r#"
import json, subprocess, sys
print(json.dumps({"type": "hello", "name": "attack", "version": "1", "capabilities": []}), flush=True)
print(json.dumps({"type": "ready"}), flush=True)
subprocess.run(["sh", "-c", sys.argv[1]], stdin=subprocess.DEVNULL)
sys.stdin.read()
"#;

const WORKSPACE: &[&str] = &["--sandbox", "workspace"];

/// How long a flood runs before zot is stopped.
const FLOOD_TIME: Duration = Duration::from_secs(2);
/// The most memory that zot may have used by then.
const MAX_FLOOD_KIB: u64 = 256 * 1024;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "sandbox-processes",
        promise: "a command at workspace cannot limit, signal, trace or schedule a process outside",
        run: |targets| other_processes(targets, WORKSPACE),
    },
    Attack {
        name: "sandbox-attributes",
        promise: "a command at workspace changes no mode, owner or times of files outside",
        run: |targets| attributes(targets, WORKSPACE),
    },
    Attack {
        name: "sandbox-bash",
        promise: "a command at workspace reads, changes and reaches nothing outside",
        run: attempts_of_bash,
    },
    Attack {
        name: "sandbox-extension",
        promise: "an extension at workspace reads, changes and reaches nothing outside",
        run: attempts_of_extension,
    },
    Attack {
        name: "sandbox-orphans-of-bash",
        promise: "nothing that bash started at workspace outlives a zot that was killed",
        run: |targets| orphans_of_bash(targets, WORKSPACE),
    },
    Attack {
        name: "sandbox-orphans-of-extensions",
        promise: "nothing that an extension started outlives a zot that was killed, at any level",
        run: orphans_of_extensions,
    },
    Attack {
        name: "sandbox-flood",
        promise: "a command at workspace that floods its output ends with zot, which stays small",
        run: flood,
    },
];

/// A project beside a secret, a server to reach, and the script that tries to.
struct Scene {
    workdir: Workdir,
    secret: PathBuf,
    listener: TcpListener,
    /// The arguments of the script.
    arguments: Vec<String>,
}

impl Scene {
    fn new() -> anyhow::Result<Self> {
        let workdir = Workdir::new("work");
        let beside = workdir.parent().join("beside");
        let secret = beside.join("secret");
        let hooks = workdir.path().join(".git/hooks");
        fs::create_dir(&beside)?;
        fs::create_dir_all(&hooks)?;
        fs::write(hooks.join("pre-commit"), "mine")?;
        fs::write(&secret, "canary")?;
        fs::create_dir_all(workdir.zot_home())?;
        fs::write(workdir.zot_home().join("auth.json"), r#"{"canary": {}}"#)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let shown = |path: &Path| path.display().to_string();
        let arguments = vec![
            shown(&workdir.path()),
            shown(&beside),
            shown(&workdir.zot_home()),
            listener.local_addr()?.port().to_string(),
        ];
        Ok(Self {
            workdir,
            secret,
            listener,
            arguments,
        })
    }

    /// Judges what the script printed and what it left.
    fn outcome(&self, printed: &str) -> anyhow::Result<Outcome> {
        let (tried, mut achieved) = tried_and_achieved(printed);
        let works_outside = achieved_without_sandbox()?;
        if fs::read_to_string(&self.secret).ok().as_deref() != Some("canary") {
            achieved.push("the file beside has changed".to_owned());
        }
        let hook = self.workdir.path().join(".git/hooks/pre-commit");
        if fs::read_to_string(hook).ok().as_deref() != Some("mine") {
            achieved.push("the hook has changed".to_owned());
        }
        for name in [".mcp.json", ".envrc", ".bashrc"] {
            if self.workdir.path().join(name).exists() {
                achieved.push(format!("{name} is there"));
            }
        }
        if self.listener.accept().is_ok() {
            achieved.push("the server was connected to".to_owned());
        }
        anyhow::ensure!(tried > 20, "the script did not run: {printed}");
        Ok(match achieved.is_empty() {
            true => Outcome::Held(format!(
                "0 of {tried} attempts worked ({works_outside} do without a sandbox), no protected file was left"
            )),
            false => Outcome::Broken(achieved.join(", ")),
        })
    }
}

/// Returns how many attempts a report names, and those that worked. It may name them twice.
fn tried_and_achieved(report: &str) -> (usize, Vec<String>) {
    let lines = report.lines().filter(|line| line.starts_with("attempt "));
    let lines: BTreeSet<&str> = lines.collect();
    let achieved = lines.iter().filter(|line| line.contains(" achieved "));
    let achieved = achieved.map(|line| (*line).to_owned()).collect();
    (lines.len(), achieved)
}

/// Returns how many attempts work for a program that is not confined: an attack that never works proves
/// nothing.
fn achieved_without_sandbox() -> anyhow::Result<usize> {
    let scene = Scene::new()?;
    let script = scene.workdir.path().join("attempts.py");
    fs::write(&script, SANDBOXED)?;
    let mut program = command(Path::new(python()), &scene.workdir);
    let output = program.arg(script).args(&scene.arguments).output()?;
    let (_, achieved) = tried_and_achieved(&String::from_utf8_lossy(&output.stdout));
    anyhow::ensure!(achieved.len() >= 10, "only {achieved:?} work outside");
    Ok(achieved.len())
}

fn attempts_of_bash(targets: &Targets) -> anyhow::Result<Outcome> {
    let scene = Scene::new()?;
    fs::write(scene.workdir.path().join("attempts.py"), SANDBOXED)?;
    let script = format!("{} attempts.py {}", python(), scene.arguments.join(" "));
    let output = output_of(targets, &scene.workdir, WORKSPACE, &script)?;
    // The result is a string in JSON.
    scene.outcome(&output.replace("\\n", "\n"))
}

fn attempts_of_extension(targets: &Targets) -> anyhow::Result<Outcome> {
    let scene = Scene::new()?;
    let report = scene.workdir.path().join("report");
    let script = format!(
        "{} attempts.py {} > {}",
        python(),
        scene.arguments.join(" "),
        report.display()
    );
    let directory = extension(&scene.workdir, "workspace", &script)?;
    fs::write(directory.join("attempts.py"), SANDBOXED)?;
    let mut zot = start_with_extension(targets, &scene.workdir, &directory)?;
    wait_until("the extension has tried", || {
        fs::read_to_string(&report).is_ok_and(|text| text.ends_with("attempts end\n"))
    })?;
    drop(zot.0.stdin.take());
    zot.0.wait()?;
    scene.outcome(&fs::read_to_string(&report)?)
}

/// Writes an extension that runs `script`; returns its directory, which is beside the project.
fn extension(workdir: &Workdir, level: &str, script: &str) -> anyhow::Result<PathBuf> {
    let directory = workdir.parent().join("extension");
    fs::create_dir_all(&directory)?;
    let manifest = serde_json::json!({
        "name": "attack", "version": "1", "exec": python(), "args": ["extension.py", script],
        "sandbox": level,
    });
    fs::write(directory.join("extension.json"), manifest.to_string())?;
    fs::write(directory.join("extension.py"), EXTENSION)?;
    Ok(directory)
}

/// Starts zot with an extension; it ends with its input.
fn start_with_extension(
    targets: &Targets,
    workdir: &Workdir,
    directory: &Path,
) -> anyhow::Result<Running> {
    let mut zot = command(&targets.program("zot"), workdir);
    zot.args(["rpc", "--provider", "offline", "--no-ext", "--ext"])
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    Ok(Running(zot.spawn().context("cannot start zot")?))
}

fn orphans_of_extensions(targets: &Targets) -> anyhow::Result<Outcome> {
    let mut slowest = Duration::ZERO;
    for (number, level) in ["off", "workspace", "read-only"].into_iter().enumerate() {
        let workdir = Workdir::new("work");
        let marker = format!("89{number}.{}", std::process::id());
        let script = workdir.parent().join("extension/orphans.sh");
        let directory = extension(&workdir, level, &format!("sh {}", script.display()))?;
        fs::write(&script, orphans(&marker))?;
        let mut zot = start_with_extension(targets, &workdir, &directory)?;
        wait_until("the extension has started all of them", || {
            living_orphans(&marker) == ORPHANS
        })?;
        let killed = Instant::now();
        zot.0.kill()?;
        zot.0.wait()?;
        if wait_until("they are gone", || living_orphans(&marker) == 0).is_err() {
            let left = living_orphans(&marker);
            return Ok(Outcome::Broken(format!(
                "{left} of {ORPHANS} left at {level}"
            )));
        }
        slowest = slowest.max(killed.elapsed());
    }
    Ok(Outcome::Held(format!(
        "0 of {ORPHANS} left at 3 levels, at most {} ms after kill -9",
        slowest.as_millis()
    )))
}

fn flood(targets: &Targets) -> anyhow::Result<Outcome> {
    let mut slowest = Duration::ZERO;
    let mut largest = 0;
    for (number, signal) in [Signal::INT, Signal::TERM, Signal::KILL]
        .into_iter()
        .enumerate()
    {
        let workdir = Workdir::new("work");
        // Others flood while it is at work, too, and one does not stop at a signal.
        let marker = format!("87{number}.{}", std::process::id());
        let script = format!(
            "trap '' TERM INT HUP\nfor i in 1 2 3; do yes $i & yes $i >&2 & done\nsleep {marker} &\nexec yes"
        );
        fs::write(workdir.path().join("flood.sh"), script)?;
        let mut zot = command(&targets.program("zot"), &workdir);
        zot.args(["--json", "--provider", "offline"])
            .args(WORKSPACE)
            .arg("run: sh flood.sh")
            .stdout(Stdio::null());
        let mut zot = Running(zot.spawn().context("cannot start zot")?);
        wait_until("the flood has begun", || living_orphans(&marker) == 1)?;
        std::thread::sleep(FLOOD_TIME);
        largest = largest.max(peak_memory_kib(zot.0.id()));
        let stopped = Instant::now();
        kill_process(pid_of(&zot.0)?, signal)?;
        zot.0.wait()?;
        if wait_until("it is over", || living_orphans(&marker) == 0).is_err() {
            return Ok(Outcome::Broken(format!("the command survived {signal:?}")));
        }
        slowest = slowest.max(stopped.elapsed());
    }
    let figure = format!(
        "7 programs flooding, stopped in 3 ways; the slowest took {} ms, peak memory {} MiB",
        slowest.as_millis(),
        largest / 1024
    );
    let is_held = slowest < Duration::from_secs(5) && largest > 0 && largest < MAX_FLOOD_KIB;
    Ok(match is_held {
        true => Outcome::Held(figure),
        false => Outcome::Broken(figure),
    })
}

/// Returns the most memory that a process had so far; 0 if it is not known.
fn peak_memory_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
