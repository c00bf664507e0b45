//! The measurements of `zot rpc`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use testkit::{Wire, Workdir};

use super::Effort;
use super::measure::{Cost, median, nothing, rounds};
use super::peer::Peer;
use super::programs::{Programs, clean_command, zot_command};
use super::report::{Quantity, Row};

pub(super) const PING: &str = r#"{"id":"0","type":"ping"}"#;
const CLEAR: &str = r#"{"id":"c","type":"clear"}"#;
const GET_STATE: &str = r#"{"id":"s","type":"get_state"}"#;
const GET_MESSAGES: &str = r#"{"id":"m","type":"get_messages"}"#;

/// The number of tool calls in one prompt.
const STEPS: u32 = 50;

/// The model server keeps all requests in memory. They are cleared after this many while a transcript
/// is built, and before every round of a measurement.
const REQUESTS_BETWEEN_RESETS: usize = 20;

/// Large enough that no transcript of the bench is ever compacted.
pub(super) const MODELS: &str =
    r#"{"providers":{"openai":{"models":[{"id":"gpt-4o","contextWindow":1000000000000}]}}}"#;

/// The model server and the programs that use it.
pub(super) struct Bench<'a> {
    programs: &'a Programs,
    effort: Effort,
    port: u16,
    _server: Peer,
}

impl<'a> Bench<'a> {
    pub(super) fn new(programs: &'a Programs, effort: Effort) -> anyhow::Result<Self> {
        let (server, port) = start_server(&programs.scripted_model)?;
        Ok(Self {
            programs,
            effort,
            port,
            _server: server,
        })
    }

    /// Measures the wall-clock time from starting the program to its first response.
    pub(super) fn start(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("start");
        let count = self.effort.rounds(200);
        let (mut zot, mut floor, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        // Interleaved, so that all run under the same conditions.
        for _ in 0..count {
            let start = Instant::now();
            let mut peer = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
            peer.call(PING)?;
            zot.push(start.elapsed());
            let start = Instant::now();
            let mut peer = Peer::start(clean_command(&self.programs.floor))?;
            peer.call("ping")?;
            floor.push(start.elapsed());
            let start = Instant::now();
            clean_command("true")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()?;
            bare.push(start.elapsed());
        }
        let row = |what: &str, value, name, floor, target| Row {
            what: what.to_owned(),
            value: Quantity::Time(median(value)),
            floor: Some((name, Quantity::Time(median(floor)))),
            target,
            original: "20–25 ms",
        };
        let target = Some(Quantity::milliseconds(3.0));
        let pong = "minimal program, pong";
        Ok(vec![
            row("start to `pong`, wall", zot.clone(), pong, floor, target),
            row("the same", zot, "`true`, start to end", bare, target),
        ])
    }

    /// Measures the memory of a process that has answered one `ping`.
    pub(super) fn idle_memory(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("memory");
        let (mut own, mut floors) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        for _ in 0..self.effort.rounds(15) {
            let mut zot = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
            let mut floor = Peer::start(clean_command(&self.programs.floor))?;
            for (peer, line, figures) in [
                (&mut zot, PING, &mut own),
                (&mut floor, "ping", &mut floors),
            ] {
                peer.call(line)?;
                peer.cpu()?;
                figures.0.push(peer.resident_bytes()?);
                figures.1.push(peer.proportional_bytes()?);
            }
        }
        let row = |what: &str, value, floor, target, original| Row {
            what: what.to_owned(),
            value: Quantity::Bytes(median(value)),
            floor: Some(("minimal program", Quantity::Bytes(median(floor)))),
            target,
            original,
        };
        let limit = Some(Quantity::Bytes(5 << 20));
        Ok(vec![
            row("idle memory, RSS", own.0, floors.0, limit, "16.5 MiB"),
            row("idle memory, PSS", own.1, floors.1, None, ""),
        ])
    }

    /// Measures the CPU time of a long streamed answer.
    pub(super) fn streaming(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (wire, limit, original) in [
            (Wire::OpenAi, 30.0, "200–290 ms"),
            (Wire::Anthropic, 40.0, "335 ms"),
        ] {
            let workdir = Workdir::new("streaming");
            let mut zot = Peer::start(self.zot(&workdir, wire))?;
            let mut floor = self.floor()?;
            for (deltas, target, original) in [(20_000, Some(limit), original), (10_000, None, "")]
            {
                let count = self.effort.rounds(25);
                let prompt = format!("say:{deltas}");
                let own = rounds(&mut zot, count, clear, |zot| {
                    let bytes = zot.prompt(&prompt)?;
                    ensure!(bytes > deltas * 20, "the answer is too short");
                    Ok(())
                })?;
                let least = self.exchange(&mut floor, count, wire, 1, 1, &prompt)?;
                let name = format!("{deltas} deltas, {}", wire.provider());
                rows.push(cpu_row(&name, own, ("raw read", least), target, original));
                rows.push(wall_row(&name, own, ("raw read", least)));
            }
        }
        Ok(rows)
    }

    /// Measures the cost of one step: a model call that requests a tool, and the tool.
    pub(super) fn tool_steps(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::with_files("steps");
        let mut zot = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
        let mut floor = self.floor()?;
        let count = self.effort.rounds(20);
        let mut step = |tool: &str| {
            let prompt = format!("loop:{STEPS}:{tool}");
            let work = |zot: &mut Peer| zot.prompt(&prompt).map(drop);
            Ok::<_, anyhow::Error>(rounds(&mut zot, count, clear, work)?.per(STEPS))
        };
        let read = step(r#"read:{"path":"a.txt"}"#)?;
        let bash = step(r#"bash:{"command":"true"}"#)?;
        // The average request of a prompt with this many steps has as many messages.
        let messages = STEPS as usize;
        let exchange = self.exchange(&mut floor, count, Wire::OpenAi, STEPS, messages, "say:1")?;
        let spawn = rounds(&mut floor, count, nothing, |floor| {
            floor.work(&format!("spawn {STEPS}")).map(drop)
        })?
        .per(STEPS);
        let with_children = |cost: Cost| Quantity::Time(cost.cpu + cost.children);
        let (exchanged, spawned) = (("raw exchange", exchange), ("bare `bash -c true`", spawn));
        Ok(vec![
            cpu_row("`read` step", read, exchanged, Some(0.25), "1.3 ms"),
            wall_row("`read` step", read, exchanged),
            cpu_row("`bash true` step", bash, spawned, Some(0.5), "1.9 ms"),
            Row {
                what: "`bash true` step, CPU with children".to_owned(),
                value: with_children(bash),
                floor: Some((spawned.0, with_children(spawn))),
                target: None,
                original: "",
            },
            wall_row("`bash true` step", bash, spawned),
        ])
    }

    /// Measures a turn, and reading all messages, on long transcripts.
    pub(super) fn long_transcripts(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("transcripts");
        std::fs::create_dir_all(workdir.zot_home())?;
        std::fs::write(workdir.zot_home().join("models.json"), MODELS)?;
        let mut zot = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
        let mut floor = self.floor()?;
        let sizes: &[_] = match self.effort {
            Effort::Full => &[
                (2_000, Some(1.0), "6.5 ms", Some(1.5), "11 ms"),
                (10_000, Some(4.0), "–", None, ""),
            ],
            Effort::Quick => &[(2_000, Some(1.0), "6.5 ms", Some(1.5), "11 ms")],
        };
        let mut rows = Vec::new();
        let mut messages = 0;
        for &(size, turn_target, turn_original, get_target, get_original) in sizes {
            while messages < size {
                if (messages / 2) % REQUESTS_BETWEEN_RESETS == 0 {
                    self.reset_server()?;
                }
                zot.prompt("say:1")?;
                messages += 2;
            }
            let count = self.effort.rounds(60).max(20);
            let least = self.exchange(&mut floor, count, Wire::OpenAi, 1, size + 1, "say:1")?;
            let get = rounds(&mut zot, count, nothing, |zot| {
                zot.call(GET_MESSAGES).map(drop)
            })?;
            let bytes = zot.call(GET_MESSAGES)?;
            let write = rounds(&mut floor, count, nothing, |floor| {
                floor.work(&format!("write {bytes}")).map(drop)
            })?;
            self.reset_server()?;
            let turn = rounds(&mut zot, count, nothing, |zot| {
                zot.prompt("say:1").map(drop)
            })?;
            messages += 2 * (count + 1);
            check_count(&mut zot, messages)?;
            let name = format!("turn on {size} messages");
            let floor = ("raw exchange of the same size", least);
            rows.push(cpu_row(&name, turn, floor, turn_target, turn_original));
            rows.push(wall_row(&name, turn, floor));
            let name = format!("`get_messages` on {size} messages");
            let floor = ("plain write of the same size", write);
            rows.push(cpu_row(&name, get, floor, get_target, get_original));
            rows.push(wall_row(&name, get, floor));
        }
        Ok(rows)
    }

    pub(super) fn zot_binary(&self) -> &Path {
        &self.programs.zot
    }

    pub(super) fn zino_binary(&self) -> &Path {
        &self.programs.zino
    }

    pub(super) fn model_port(&self) -> u16 {
        self.port
    }

    pub(super) fn child_binary(&self) -> &Path {
        &self.programs.child
    }

    pub(super) fn glasspane_binary(&self) -> &Path {
        &self.programs.glasspane
    }

    pub(super) fn runtime_binary(&self) -> &Path {
        &self.programs.runtime
    }

    pub(super) fn effort(&self) -> Effort {
        self.effort
    }

    pub(super) fn rounds(&self, full: usize) -> usize {
        self.effort.rounds(full)
    }

    pub(super) fn zot(&self, workdir: &Workdir, wire: Wire) -> Command {
        zot_command(&self.programs.zot, workdir, self.port, wire)
    }

    pub(super) fn floor(&self) -> anyhow::Result<Peer> {
        let mut command = clean_command(&self.programs.floor);
        command.arg(format!("127.0.0.1:{}", self.port));
        Peer::start(command)
    }

    /// Measures `times` raw requests with a conversation of `messages`; returns the cost of one.
    pub(super) fn exchange(
        &self,
        floor: &mut Peer,
        count: usize,
        wire: Wire,
        times: u32,
        messages: usize,
        directive: &str,
    ) -> anyhow::Result<Cost> {
        let path = match wire {
            Wire::OpenAi => "/v1/chat/completions",
            Wire::Anthropic => "/v1/messages",
            Wire::OpenAiResponses => "/v1/responses",
            Wire::Gemini => "/v1beta/models/m:streamGenerateContent",
        };
        let command = format!("exchange {times} {path} {messages} {directive}");
        let forget = |_: &mut Peer| self.reset_server();
        let work = |floor: &mut Peer| floor.work(&command).map(drop);
        Ok(rounds(floor, count, forget, work)?.per(times))
    }

    /// Clears the requests that the server keeps.
    pub(super) fn reset_server(&self) -> anyhow::Result<()> {
        reset_server(self.port)
    }
}

/// Clears the requests that the model server on `port` keeps.
pub(super) fn reset_server(port: u16) -> anyhow::Result<()> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.write_all(b"POST /_control HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")?;
    // The response is one small write.
    let count = connection.read(&mut [0; 1024])?;
    ensure!(count > 0, "the model server did not answer");
    Ok(())
}

/// Starts the model server and returns its port.
pub(super) fn start_server(program: &Path) -> anyhow::Result<(Peer, u16)> {
    let mut server = Peer::start(clean_command(program))?;
    let line = server.first_line()?;
    let port = line.trim().rsplit(':').next().unwrap_or_default();
    let port = port
        .parse()
        .with_context(|| format!("unexpected {line:?}"))?;
    Ok((server, port))
}

/// Clears the transcript before a round.
pub(super) fn clear(zot: &mut Peer) -> anyhow::Result<()> {
    zot.call(CLEAR).map(drop)
}

/// Fails if the transcript was compacted or a prompt failed.
fn check_count(zot: &mut Peer, messages: usize) -> anyhow::Result<()> {
    zot.send(GET_STATE)?;
    let state: serde_json::Value = serde_json::from_str(&zot.first_line()?)?;
    let count = &state["data"]["message_count"];
    ensure!(*count == messages, "{count} messages instead of {messages}");
    Ok(())
}

pub(super) fn cpu_row(
    what: &str,
    own: Cost,
    (name, floor): (&'static str, Cost),
    target: Option<f64>,
    original: &'static str,
) -> Row {
    Row {
        what: format!("{what}, CPU"),
        value: Quantity::Time(own.cpu),
        floor: Some((name, Quantity::Time(floor.cpu))),
        target: target.map(Quantity::milliseconds),
        original,
    }
}

pub(super) fn wall_row(what: &str, own: Cost, (name, floor): (&'static str, Cost)) -> Row {
    Row {
        what: format!("{what}, wall"),
        value: Quantity::Time(own.wall),
        floor: Some((name, Quantity::Time(floor.wall))),
        target: None,
        original: "",
    }
}
