//! Measures what MCP servers cost zot: a call, memory, the start, and a server that never answers.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::json;
use testkit::{Wire, Workdir};

use super::measure::{median, rounds};
use super::peer::Peer;
use super::report::{Quantity, Row};
use super::scenarios::{Bench, PING, clear};

/// The name of the server and of its tool.
const SERVER: &str = "probe";

/// The number of calls in one prompt.
const CALLS: u32 = 50;

/// A tool that does not exist: the model reads an error, and nothing else happens.
const ABSENT: &str = "absent:{}";

/// How the server behaves.
#[derive(Debug, Clone, Copy)]
enum Server {
    None,
    Answers,
    Silent,
}

impl Bench<'_> {
    /// Measures a call of a tool that does nothing, beyond a step that calls no tool.
    pub(super) fn mcp_calls(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = self.with_server(Server::Answers)?;
        let mut zot = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
        let count = self.effort().rounds(40);
        let call = format!(r#"{SERVER}__{SERVER}:{{"text":"hello"}}"#);
        check_answer(&mut zot, &call)?;
        let mut step = |tool: &str| {
            let prompt = format!("loop:{CALLS}:{tool}");
            let work = |zot: &mut Peer| zot.prompt(&prompt).map(drop);
            Ok::<_, anyhow::Error>(rounds(&mut zot, count, clear, work)?.per(CALLS))
        };
        let (absent, called) = (step(ABSENT)?, step(&call)?);
        let row = |what: &str, called: Duration, absent: Duration, target| Row {
            what: format!("MCP call over stdio, {what}, beyond the model call"),
            value: Quantity::Time(called.saturating_sub(absent)),
            floor: Some(("a step without a tool", Quantity::Time(absent))),
            target,
            original: "",
        };
        let target = Some(Quantity::milliseconds(0.1));
        Ok(vec![
            row("CPU of zot", called.cpu, absent.cpu, target),
            row("wall", called.wall, absent.wall, None),
        ])
    }

    /// Measures start and idle memory with one server that answers, beside the same without.
    pub(super) fn mcp_start(&self) -> anyhow::Result<Vec<Row>> {
        let with = self.with_server(Server::Answers)?;
        let without = self.with_server(Server::None)?;
        let mut figures = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
        for _ in 0..self.effort().rounds(40) {
            for (workdir, (starts, memories)) in [&with, &without].into_iter().zip(&mut figures) {
                let start = Instant::now();
                let mut zot = Peer::start(self.zot(workdir, Wire::OpenAi))?;
                zot.call(PING)?;
                starts.push(start.elapsed());
                zot.prompt("say:1")?;
                zot.cpu()?;
                memories.push(zot.resident_bytes()?);
            }
        }
        let [(start, memory), (bare_start, bare_memory)] = figures;
        Ok(vec![
            Row {
                what: "start to `pong` with an MCP server".to_owned(),
                value: Quantity::Time(median(start)),
                floor: Some(("without", Quantity::Time(median(bare_start)))),
                target: None,
                original: "",
            },
            Row {
                what: "memory after a prompt with an MCP server, RSS of zot".to_owned(),
                value: Quantity::Bytes(median(memory)),
                floor: Some(("without", Quantity::Bytes(median(bare_memory)))),
                target: None,
                original: "",
            },
        ])
    }

    /// Measures the first prompt beside a server that never answers.
    pub(super) fn mcp_silence(&self) -> anyhow::Result<Vec<Row>> {
        let silent = self.with_server(Server::Silent)?;
        let without = self.with_server(Server::None)?;
        let mut figures = [Vec::new(), Vec::new()];
        for _ in 0..self.effort().rounds(20) {
            for (workdir, times) in [&silent, &without].into_iter().zip(&mut figures) {
                let mut zot = Peer::start(self.zot(workdir, Wire::OpenAi))?;
                zot.call(PING)?;
                let start = Instant::now();
                zot.prompt("say:1")?;
                times.push(start.elapsed());
            }
        }
        let [silent, without] = figures.map(median);
        Ok(vec![Row {
            what: "first prompt beside a silent MCP server, added wall".to_owned(),
            value: Quantity::Time(silent.saturating_sub(without)),
            floor: Some(("the same prompt without", Quantity::Time(without))),
            target: Some(Quantity::milliseconds(100.0)),
            original: "",
        }])
    }

    fn with_server(&self, server: Server) -> anyhow::Result<Workdir> {
        let workdir = Workdir::new("mcp");
        let mode = match server {
            Server::None => return Ok(workdir),
            Server::Answers => "mcp",
            Server::Silent => "silent",
        };
        let command = self.child_binary();
        let servers = json!({"mcpServers": {SERVER: {"command": command, "args": [SERVER, mode]}}});
        fs::create_dir_all(workdir.zot_home())?;
        fs::write(workdir.zot_home().join("mcp.json"), servers.to_string())?;
        Ok(workdir)
    }
}

/// Waits until the server's tool answers.
fn check_answer(zot: &mut Peer, call: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let prompt = json!({"id": "p", "type": "prompt", "message": format!("loop:1:{call}")});
        zot.send(&prompt.to_string())?;
        let mut failed = true;
        zot.watch(|line, _| {
            if line.starts_with(br#"{"type":"tool_result""#) {
                failed = !String::from_utf8_lossy(line).contains(r#""is_error":false"#);
            }
        })?;
        if !failed {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the server's tool does not answer"
        );
    }
}
