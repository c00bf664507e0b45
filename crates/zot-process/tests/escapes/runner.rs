//! Runs the attempts of a category in this process and compares with the table.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::process::with_command_line;

use crate::attempt::{After, Attempt, Category, Control, Expected, Rights, Who};
use crate::bystander::Internet;
use crate::confined::{Ran, run_confined, run_plain};
use crate::modes::{FILTER_VARIABLE, Mode, SECRET_VARIABLE, TASK_VARIABLE};
use crate::table::CATEGORIES;
use crate::world::World;

/// How long processes may be left after a run.
const SURVIVAL: Duration = Duration::from_secs(1);

/// Nothing ends them there.
const SURVIVAL_WITHOUT_SANDBOX: Duration = Duration::from_millis(100);

/// How long an attempt may take to make its last process, when nobody stops it.
const WAITING: Duration = Duration::from_secs(4);

/// How the kernel says that it is made without something: ENOENT, ENXIO, ENODEV, ENOTTY, ENOSYS,
/// EPROTONOSUPPORT, ESOCKTNOSUPPORT, EOPNOTSUPP, EAFNOSUPPORT.
const NOT_IN_KERNEL: [&str; 9] = [
    "[Errno 2]",
    "[Errno 6]",
    "[Errno 19]",
    "[Errno 25]",
    "[Errno 38]",
    "[Errno 93]",
    "[Errno 94]",
    "[Errno 95]",
    "[Errno 97]",
];

/// What came of an attempt.
enum Outcome {
    Held(String),
    Escaped(String),
    /// It got out by changing protected files, all of which the sandbox reported.
    Reported(String),
    /// It could not be carried out.
    Broken(String),
}

/// Does what the process was started for, if it was started by [`crate::modes`].
pub(crate) fn run_if_asked() {
    let Ok(task) = std::env::var(TASK_VARIABLE) else {
        return;
    };
    let secret = std::env::var(SECRET_VARIABLE).unwrap();
    let filter = std::env::var(FILTER_VARIABLE).unwrap_or_default();
    let (category, mode) = task.split_once(' ').unwrap();
    let mode = Mode::named(mode);
    let category = CATEGORIES
        .iter()
        .find(|known| known.name == category)
        .unwrap();
    // As an ordinary user with the protection that zot has; as root without: the sandbox must hold alone.
    if !is_root() {
        zot_process::forbid_dumps();
    }
    if mode == Mode::Refused {
        let report = zot_process::launch::isolation();
        assert!(
            !report.contains("namespaces\n") && report.starts_with("a system call filter"),
            "{report}"
        );
    }
    let mut counts = BTreeMap::<&str, usize>::new();
    let internet = match category.name {
        "proxy" => Internet::Small,
        _ => Internet::None,
    };
    let mut world = World::new(&secret, internet);
    for attempt in category.attempts {
        if !attempt.name.contains(&filter) || !concerns(attempt) {
            continue;
        }
        let began = Instant::now();
        let Some((outcome, verdict)) = judge(category, attempt, &mut world, mode) else {
            *counts.entry("not tried").or_default() += 1;
            continue;
        };
        let (word, detail) = match outcome {
            Outcome::Held(detail) => ("held", detail),
            Outcome::Escaped(detail) => ("escaped", detail),
            Outcome::Reported(detail) => ("reported", detail),
            Outcome::Broken(detail) => ("broken", detail),
        };
        *counts.entry(word).or_default() += 1;
        let detail: String = detail.replace('\n', " | ").chars().take(600).collect();
        let user = if is_root() { "root" } else { "user" };
        let line = format!(
            "{word} {}/{} ({user}, {} ms): {detail}",
            category.name,
            attempt.name,
            began.elapsed().as_millis()
        );
        println!("{}{line}", if verdict { "" } else { "wrong: " });
        if !world.is_intact() {
            // Whatever was left must not confuse the next one.
            drop(world);
            world = World::new(&secret, internet);
        }
    }
    println!("ended: {} {mode:?} {counts:?}", category.name);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn concerns(attempt: &Attempt) -> bool {
    match attempt.who {
        Who::Anybody => true,
        Who::Root => is_root(),
        Who::User => !is_root(),
    }
}

/// Carries the attempt out; returns what came of it, and whether that was expected.
fn judge(
    category: &Category,
    attempt: &Attempt,
    world: &mut World,
    mode: Mode,
) -> Option<(Outcome, bool)> {
    let expected = match mode {
        Mode::Namespaces => attempt.with_namespaces,
        Mode::Alone | Mode::Refused => attempt.alone,
        Mode::Off => Expected::Weaker("there is no sandbox"),
    };
    let mut is_plain = false;
    if mode == Mode::Off {
        match attempt.control {
            Control::Works => {}
            Control::AsRoot | Control::IfKernelHasIt if is_root() => {}
            Control::PlainAsRoot if is_root() => is_plain = true,
            // As an ordinary user it fails with and without a sandbox: nothing to learn.
            Control::AsRoot | Control::PlainAsRoot | Control::IfKernelHasIt => return None,
            Control::Plain => is_plain = true,
            Control::If(condition) if condition() => {}
            Control::If(_) => return None,
            Control::Unproved(reason) => {
                println!("not tried {}/{}: {reason}", category.name, attempt.name);
                return None;
            }
        }
    }
    world.renew(attempt.workspace, attempt.rights == Rights::ReadOnly);
    let ran = match is_plain {
        true => run_plain(category, attempt, world),
        false => run_confined(category, attempt, world, mode),
    };
    let outcome = outcome(attempt, world, mode, ran);
    let is_optional = mode == Mode::Off && matches!(attempt.control, Control::IfKernelHasIt);
    if let Outcome::Held(detail) = &outcome
        && is_optional
        && NOT_IN_KERNEL.iter().any(|error| detail.contains(error))
    {
        let name = attempt.name;
        println!(
            "not tried {}/{name}: not in this kernel: {detail}",
            category.name
        );
        return None;
    }
    let is_expected = matches!(
        (&outcome, expected),
        (Outcome::Held(_), Expected::Held)
            | (Outcome::Reported(_), Expected::Reported)
            | (
                Outcome::Escaped(_) | Outcome::Reported(_),
                Expected::Weaker(_)
            )
    );
    Some((outcome, is_expected))
}

fn outcome(attempt: &Attempt, world: &mut World, mode: Mode, ran: Ran) -> Outcome {
    let mut escapes: Vec<String> = Vec::new();
    let output = &ran.output;
    if let Some(line) = output.lines().find(|line| line.starts_with("ESCAPED ")) {
        escapes.push(line.to_owned());
    }
    if output.contains(world.secret()) {
        escapes.push("the secret is in its output".to_owned());
    }
    if attempt.after == After::Waits {
        std::thread::sleep(WAITING);
    }
    escapes.extend(left_processes(world, mode));
    escapes.extend(world.changes());
    let (mut reported, mut unreported) = (Vec::new(), Vec::new());
    for (path, how) in world.protected_changes() {
        let is_reported = is_reported(&path, &ran);
        match is_reported {
            true => reported.push(format!("{}", path.display())),
            false => unreported.push(format!("{} {how}", path.display())),
        }
    }
    escapes.extend(unreported);
    act_afterwards(attempt, world);
    if world.marker().exists() {
        let what = "a planted command ran outside".to_owned();
        match ran.obstacles.changed_files.is_empty() {
            true => escapes.push(what),
            false => reported.push(what),
        }
    }
    let is_complete = output
        .lines()
        .any(|line| line.starts_with("HELD ") || line == "DONE");
    let detail = match output.lines().find(|line| line.starts_with("HELD ")) {
        Some(line) => line.to_owned(),
        None => output.chars().take(200).collect(),
    };
    match (escapes.is_empty(), reported.is_empty()) {
        (false, _) => Outcome::Escaped(escapes.join("; ")),
        (true, false) => Outcome::Reported(reported.join(", ")),
        (true, true) if is_complete => Outcome::Held(detail),
        (true, true) if attempt.may_die => Outcome::Held(format!("killed: {:?}", ran.signal)),
        (true, true) => Outcome::Broken(format!(
            "signal {:?}, timed out {}: {output}",
            ran.signal, ran.timed_out
        )),
    }
}

/// Returns whether the sandbox names the protected file, or one in the directory that was replaced.
fn is_reported(path: &Path, ran: &Ran) -> bool {
    let mut changed = ran.obstacles.changed_files.iter();
    changed.any(|changed| path.starts_with(changed) || changed.starts_with(path))
}

/// Does what a user would do next.
fn act_afterwards(attempt: &Attempt, world: &World) {
    let home = world.path("home");
    let search_path = std::env::var("PATH").unwrap_or_default();
    let search_path = format!(
        "{0}/.local/bin:{0}/.cargo/bin:{search_path}",
        home.display()
    );
    let call = |program: &str, arguments: &[&str]| {
        let _ = Command::new(program)
            .args(arguments)
            .current_dir(world.workspace())
            .env("HOME", &home)
            .env("PATH", &search_path)
            .env_remove("BASH_ENV")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(std::process::Stdio::null())
            .output();
    };
    match attempt.after {
        After::Git => {
            call("git", &["status"]);
            let commit = [
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@x",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "x",
            ];
            call("git", &commit);
        }
        After::Shell => {
            call("bash", &["-ic", "true"]);
            call("bash", &["-lc", "true"]);
            call("sh", &["-lc", "git --version"]);
        }
        After::Nothing
        | After::Connects
        | After::AnotherCommand
        | After::TimesOut
        | After::Waits => {}
    }
}

/// Returns the processes that are left, and ends them. A sandbox has a second to end them.
fn left_processes(world: &World, mode: Mode) -> Option<String> {
    let began = Instant::now();
    let patience = match mode {
        Mode::Off => SURVIVAL_WITHOUT_SANDBOX,
        _ => SURVIVAL,
    };
    // Every process of an attempt has the name on its command line.
    let mut count = 0;
    loop {
        let left = with_command_line(world.survivor());
        if left.is_empty() {
            break;
        }
        if began.elapsed() > patience {
            count = count.max(left.len());
            for pid in left {
                let pid = i32::try_from(pid)
                    .ok()
                    .and_then(rustix::process::Pid::from_raw);
                if let Some(pid) = pid {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (count > 0).then(|| format!("{count} processes are left"))
}
