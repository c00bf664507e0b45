//! Attacks through content from servers, models and tools: endless responses, terminal escapes, echoed
//! keys.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use testkit::process::peak_resident_bytes;
use testkit::{ModelServer, Wire, Workdir};

use super::{Attack, Outcome, Targets};

const ENDLESS: &str = include_str!("../../attacks/endless.py");
const TERMINAL: &str = include_str!("../../attacks/terminal.py");

/// How soon a limit must end an endless response.
const MAX_RUN_TIME: Duration = Duration::from_secs(120);

/// The memory limit for endless responses.
const MAX_MEMORY_BYTES: u64 = 300 << 20;

/// How long floods run before they are stopped.
const STOP_DELAYS: [Duration; 4] = [
    Duration::from_millis(700),
    Duration::from_millis(200),
    Duration::from_millis(100),
    Duration::from_millis(50),
];

/// How soon a signal or an abort must take effect.
const MAX_STOP_TIME: Duration = Duration::from_secs(1);

/// A title, a cleared screen, C1 controls, direction changes, hidden letters.
const HOSTILE: &str = "ab\u{1b}]0;PWNED\u{7}cd\u{1b}[2J\u{9b}31m\u{9d}0;PWNED\u{9c}ef\u{202e}\u{2066}\u{e0041}\u{85}gh";

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "endless-response",
        promise: "a server that never stops is given up at a named limit, in little memory",
        run: endless,
    },
    Attack {
        name: "flood-and-stop",
        promise: "SIGINT, SIGTERM and abort take effect within 1 s, whatever the server sends",
        run: stopping,
    },
    Attack {
        name: "terminal-escapes",
        promise: "no text of others commands a terminal, and none is changed in a pipe",
        run: escapes,
    },
    Attack {
        name: "key-echo",
        promise: "no key of any provider reaches a cassette, encoded or in pieces",
        run: echo,
    },
];

/// A server of `endless.py`.
struct Server {
    child: Child,
    /// Closing it ends the server.
    _input: ChildStdin,
    port: String,
}

impl Server {
    fn start(mode: &str) -> anyhow::Result<Self> {
        let mut child = Command::new("python3")
            .args(["-c", ENDLESS, mode])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start python3")?;
        let input = child.stdin.take().context("no input")?;
        let mut port = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut port)?;
        Ok(Self {
            child,
            _input: input,
            port: port.trim().to_owned(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn zot(targets: &Targets, workdir: &Workdir) -> Command {
    let mut command = Command::new(targets.program("zot"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", workdir.home())
        .env("ZOT_HOME", workdir.zot_home())
        .current_dir(workdir.path())
        .stdin(Stdio::null());
    command
}

/// Adds the flags that make a wire use `server`.
fn use_server(command: &mut Command, wire: &str, server: &Server) {
    let (provider, model) = match wire {
        "anthropic" => ("anthropic", "claude-sonnet-4-5"),
        "gemini" => ("google", "gemini-2.5-pro"),
        _ => ("openai", "gpt-4o"),
    };
    command.args(["--provider", provider, "--model", model, "--api-key", "k"]);
    let url = format!("http://127.0.0.1:{}", server.port);
    command.args(["--base-url", &url]);
    if wire == "responses" {
        command.args(["--wire", "openai-responses"]);
    }
}

fn endless(targets: &Targets) -> anyhow::Result<Outcome> {
    let content_modes = ["text", "thinking", "arguments", "calls"];
    let mut cases: Vec<(&str, &str)> = Vec::new();
    for wire in ["anthropic", "openai", "responses", "gemini"] {
        cases.extend(content_modes.map(|mode| (wire, mode)));
    }
    let others = [
        "signatures",
        "pings",
        "empty",
        "comments",
        "lines",
        "headers",
        "interim",
        "line",
        "document",
        "chunks",
    ];
    cases.extend(others.map(|mode| ("anthropic", mode)));
    let count = cases.len();
    let (mut slowest, mut largest, mut shown) = (Duration::ZERO, 0, String::new());
    for (wire, mode) in cases {
        let server = Server::start(mode)?;
        let workdir = Workdir::new("work");
        let mut command = zot(targets, &workdir);
        command.args(["-p", "go", "--no-stdin"]);
        use_server(&mut command, wire, &server);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let (code, took, peak, errors) = watch(command.spawn()?, MAX_RUN_TIME)?;
        if code != Some(1) || peak > MAX_MEMORY_BYTES {
            return Ok(Outcome::Broken(format!(
                "{wire} {mode}: exit code {code:?} after {took:.1?}, {} MiB: {errors}",
                peak >> 20
            )));
        }
        if took > slowest {
            slowest = took;
            shown = format!("{wire} {mode}");
        }
        largest = largest.max(peak);
    }
    Ok(Outcome::Held(format!(
        "{count} endless responses; the slowest ({shown}) ended after {slowest:.1?}, peak memory {} MiB",
        largest >> 20
    )))
}

/// Waits for the end and records the peak memory.
fn watch(
    mut child: Child,
    patience: Duration,
) -> anyhow::Result<(Option<i32>, Duration, u64, String)> {
    let began = Instant::now();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_resident_bytes(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if began.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let took = began.elapsed();
    let mut errors = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut errors)?;
    }
    Ok((status, took, peak, errors))
}

fn stopping(targets: &Targets) -> anyhow::Result<Outcome> {
    let mut slowest = Duration::ZERO;
    for mode in [
        "letters", "thinking", "pings", "comments", "lines", "empty", "chunks",
    ] {
        for way in ["SIGINT", "SIGTERM", "abort"] {
            let took = stop_in_time(targets, mode, way)?;
            slowest = slowest.max(took);
            if took > MAX_STOP_TIME {
                return Ok(Outcome::Broken(format!("{mode}: {way} took {took:.1?}")));
            }
        }
    }
    Ok(Outcome::Held(format!(
        "7 floods, 3 ways to stop each; the slowest took {slowest:.2?}"
    )))
}

/// Stops a run during a flood and returns how long that took. If the program reached its limit first, it
/// is started again and stopped sooner.
fn stop_in_time(targets: &Targets, mode: &str, way: &str) -> anyhow::Result<Duration> {
    for delay in STOP_DELAYS {
        let server = Server::start(mode)?;
        let workdir = Workdir::new("work");
        let mut command = zot(targets, &workdir);
        match way {
            "abort" => command.arg("rpc").stdin(Stdio::piped()),
            "SIGINT" => command.args(["-p", "go", "--no-stdin"]),
            _ => command.args(["--json", "go", "--no-stdin"]),
        };
        use_server(&mut command, "anthropic", &server);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(took) = stop(command.spawn()?, way, delay)? {
            return Ok(took);
        }
    }
    // A program that reaches its limit sooner need not be stopped.
    Ok(Duration::ZERO)
}

/// Stops a run after a delay and returns how long that took, unless it had already ended.
fn stop(mut child: Child, way: &str, delay: Duration) -> anyhow::Result<Option<Duration>> {
    let mut stdout = child.stdout.take().context("no output")?;
    // Reads the output, as clients do.
    let reader = thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    let mut input = child.stdin.take();
    if let Some(input) = &mut input {
        input.write_all(b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"go\"}\n")?;
    }
    // Long enough for the flood to start, which cannot be observed.
    thread::sleep(delay);
    if child.try_wait()?.is_some() {
        return Ok(None);
    }
    let began = Instant::now();
    match input {
        Some(mut input) => input.write_all(b"{\"id\":\"2\",\"type\":\"abort\"}\n")?,
        None => {
            let signal = if way == "SIGINT" {
                Signal::INT
            } else {
                Signal::TERM
            };
            kill_process(Pid::from_child(&child), signal)?;
        }
    }
    // The end of input follows the abort and ends the program.
    let (_, _, _, _) = watch(child, Duration::from_secs(20))?;
    let took = began.elapsed();
    let _ = reader.join();
    Ok(Some(took))
}

fn escapes(targets: &Targets) -> anyhow::Result<Outcome> {
    let (workdir, server) = (Workdir::new("work"), ModelServer::start());
    prepare(&workdir)?;
    let prompt = format!("raw:{HOSTILE}");
    let refused = format!("err:400:{HOSTILE}");
    let flag = format!("--{HOSTILE}");
    let model = [
        "--provider",
        "anthropic",
        "--api-key",
        "k",
        "--model",
        "claude-sonnet-4-5",
        "--base-url",
    ];
    let url = server.url(Wire::Anthropic);
    let with_model = |words: &[&str]| -> Vec<String> {
        let words = words.iter().chain(&model).map(ToString::to_string);
        words.chain([url.clone()]).collect()
    };
    let plain = |words: &[&str]| -> Vec<String> { words.iter().map(ToString::to_string).collect() };
    let directory = workdir.path().join(HOSTILE);
    let commands: Vec<(Vec<String>, PathBuf)> = [
        with_model(&["-p", &prompt, "--no-stdin"]),
        with_model(&["--json", &prompt, "--no-stdin"]),
        with_model(&["-p", &refused, "--no-stdin"]),
        plain(&[&flag]),
        plain(&["sessions", "list", "--all"]),
        plain(&["sessions", "search", "raw"]),
        plain(&["sessions", "tree", "--all"]),
        plain(&["ext", "logs", "x"]),
        plain(&["ext", "list"]),
        plain(&["skills", "list"]),
        plain(&["skills", "show", "s"]),
        plain(&["context"]),
        plain(&["config", "list"]),
        plain(&["config", "path", "--project"]),
        plain(&["doctor"]),
    ]
    .into_iter()
    .map(|words| (words, directory.clone()))
    .collect();
    for (words, directory) in &commands {
        let shown = at_terminal(targets, &workdir, directory, words)?;
        let text = String::from_utf8(shown).map_err(|_| anyhow::anyhow!("{words:?}: not UTF-8"))?;
        if let Some(found) = text.chars().find(|shown| is_control(*shown)) {
            return Ok(Outcome::Broken(format!("{words:?} wrote {found:?}")));
        }
        ensure!(!text.is_empty(), "{words:?} wrote nothing");
    }
    let mut command = zot(targets, &workdir);
    let piped = command
        .args(with_model(&["-p", &prompt, "--no-stdin"]))
        .output()?;
    if piped.stdout != format!("{HOSTILE}\n").as_bytes() {
        return Ok(Outcome::Broken("bytes were changed in a pipe".to_owned()));
    }
    Ok(Outcome::Held(format!(
        "{} commands at a terminal wrote no control character; a pipe got every byte",
        commands.len()
    )))
}

/// Puts hostile names and texts wherever a command may find them.
fn prepare(workdir: &Workdir) -> anyhow::Result<()> {
    let project = workdir.path().join(HOSTILE);
    let skill = format!(
        "---\nname: s\ndescription: {}\n---\nbody {HOSTILE}\n",
        serde_json::to_string(HOSTILE)?
    );
    let files: [(PathBuf, Vec<u8>); 5] = [
        (project.join("AGENTS.md"), b"instructions".to_vec()),
        (project.join(".zot/skills/s/SKILL.md"), skill.into_bytes()),
        (
            project
                .join(".zot/extensions")
                .join(HOSTILE)
                .join("extension.json"),
            b"{".to_vec(),
        ),
        (
            workdir.zot_home().join("logs/ext-x.log"),
            [HOSTILE.as_bytes(), b"\x9b31m\x90\xff\n"].concat(),
        ),
        (
            workdir.zot_home().join("config.json"),
            serde_json::json!({"theme": "dark", HOSTILE: true})
                .to_string()
                .into_bytes(),
        ),
    ];
    for (path, content) in files {
        fs::create_dir_all(path.parent().context("no directory")?)?;
        fs::write(path, content)?;
    }
    Ok(())
}

/// Returns what a run of `zot` writes to terminals.
fn at_terminal(
    targets: &Targets,
    workdir: &Workdir,
    directory: &Path,
    words: &[String],
) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("python3")
        .args(["-c", TERMINAL])
        .arg(targets.program("zot"))
        .args(words)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", workdir.home())
        .env("ZOT_HOME", workdir.zot_home())
        .env("TERM", "xterm-256color")
        .current_dir(directory)
        .output()
        .context("cannot start python3")?;
    let digits = String::from_utf8(output.stdout)?;
    let digits = digits.trim().as_bytes();
    let byte = |pair: &[u8]| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
    digits.chunks(2).map(byte).collect()
}

fn is_control(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

fn echo(targets: &Targets) -> anyhow::Result<Outcome> {
    let (workdir, server) = (Workdir::new("work"), ModelServer::start());
    let key = "canary>key?of-another-provider-7";
    let auth = serde_json::json!({"openai": {"type": "api_key", "api_key": key}});
    fs::create_dir_all(workdir.zot_home())?;
    let path = workdir.zot_home().join("auth.json");
    fs::write(&path, auth.to_string())?;
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let script = "import base64,sys;k=sys.argv[1].encode();\
        [print(base64.b64encode(b'x'*n+k).decode()) for n in range(3)];\
        print(base64.urlsafe_b64encode(k).decode());print(k.hex());\
        print(''.join('%%%02x'%b for b in k));print(''.join('\\\\u%04x'%b for b in k))";
    let forms = Command::new("python3").args(["-c", script, key]).output()?;
    let forms = String::from_utf8(forms.stdout)?;
    let mut forms: Vec<&str> = forms.lines().collect();
    ensure!(forms.len() == 7, "python3 encoded nothing");
    forms.push(key);
    for (number, form) in forms.iter().enumerate() {
        let cassette = workdir.path().join(format!("{number}.cassette"));
        let status = zot(targets, &workdir)
            .args([
                "-p",
                &format!("split:2:code:it is {form} now"),
                "--no-stdin",
                "--record",
            ])
            .arg(&cassette)
            .args([
                "--provider",
                "anthropic",
                "--api-key",
                "k",
                "--model",
                "claude-sonnet-4-5",
            ])
            .args(["--base-url", &server.url(Wire::Anthropic)])
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "the recording of {form} failed");
        let recorded = fs::read_to_string(&cassette)?.replace("\",\"", "");
        // The middle, because neighbouring bytes change the first and last digits of base64.
        let middle = form.get(4..form.len() - 6).unwrap_or(form);
        let quoted = middle.replace('\\', "\\\\");
        if recorded.contains(middle) || recorded.contains(&quoted) {
            return Ok(Outcome::Broken(format!("{form} is in the cassette")));
        }
    }
    Ok(Outcome::Held(format!(
        "{} forms of a key, none recorded",
        forms.len()
    )))
}
