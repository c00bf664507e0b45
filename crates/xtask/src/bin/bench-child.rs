//! An extension that does almost nothing, for `cargo xtask bench ext`.
//!
//! `bench-child NAME` registers a tool and a command called NAME and answers tool calls. With `watch`
//! it also records the delay of each message; with `stuck` it subscribes to messages and never reads.
//! With `mcp` it is an MCP server with a tool called NAME instead, for `cargo xtask bench mcp`; with
//! `silent` one that never answers. It does the same whether zot or the bench started it.

use std::fs;
use std::io::{self, BufRead, Write};
use std::thread;

use rustix::time::{ClockId, clock_gettime};

/// The file for the delays of messages, in nanoseconds, one per line.
const DELAYS_FILE: &str = "delays";

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let mode = arguments.next();
    let mut stdout = io::stdout().lock();
    match mode.as_deref() {
        Some("mcp") => return serve_mcp(&name, &mut stdout),
        Some("silent") => return io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop),
        _ => {}
    }
    stdout.write_all(greeting(&name, mode.is_some()).as_bytes())?;
    if mode.is_some_and(|mode| mode == "stuck") {
        loop {
            thread::park();
        }
    }
    let mut stdin = io::stdin().lock();
    let mut delays = String::new();
    let mut line = String::new();
    while stdin.read_line(&mut line)? > 0 {
        if line.contains("\"type\":\"tool_call\"") {
            let id = after(&line, "\"id\":\"").unwrap_or_default();
            let id = id.split('"').next().unwrap_or_default();
            let answer = format!(
                "{{\"type\":\"tool_result\",\"id\":\"{id}\",\
                 \"content\":[{{\"type\":\"text\",\"text\":\"ok\"}}]}}\n"
            );
            stdout.write_all(answer.as_bytes())?;
        } else if let Some(text) = after(&line, "\"text\":\"") {
            let now = monotonic_nanoseconds();
            let sent = text.split(' ').next().unwrap_or_default();
            let sent: i128 = sent.parse().map_err(io::Error::other)?;
            delays.push_str(&format!("{}\n", now - sent));
        }
        line.clear();
    }
    if !delays.is_empty() {
        fs::write(DELAYS_FILE, delays)?;
    }
    Ok(())
}

/// Answers `initialize`, `tools/list` and `tools/call` until the end of its input.
fn serve_mcp(name: &str, stdout: &mut impl Write) -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    let mut line = String::new();
    while stdin.read_line(&mut line)? > 0 {
        let number = after(&line, "\"id\":").unwrap_or_default();
        let number: String = number
            .chars()
            .take_while(|one| *one != ',' && *one != '}')
            .collect();
        let result = match after(&line, "\"method\":\"") {
            Some(rest) if rest.starts_with("initialize\"") => {
                "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\
                 \"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}"
                    .to_owned()
            }
            Some(rest) if rest.starts_with("tools/list\"") => format!(
                "{{\"tools\":[{{\"name\":\"{name}\",\"description\":\"none\",\
                 \"inputSchema\":{{\"type\":\"object\"}}}}]}}"
            ),
            Some(rest) if rest.starts_with("tools/call\"") => {
                "{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}".to_owned()
            }
            _ => String::new(),
        };
        if !result.is_empty() {
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"result\":{result}}}\n");
            stdout.write_all(answer.as_bytes())?;
            stdout.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// Returns everything that is sent before the first request, for one write.
fn greeting(name: &str, wants_messages: bool) -> String {
    let subscription = match wants_messages {
        true => "{\"type\":\"subscribe\",\"events\":[\"assistant_message\"],\"intercept\":[]}\n",
        false => "",
    };
    format!(
        "{{\"type\":\"hello\",\"name\":\"{name}\",\"version\":\"1\",\
         \"capabilities\":[\"commands\",\"tools\",\"events\"]}}\n\
         {{\"type\":\"register_command\",\"name\":\"{name}\",\"description\":\"none\"}}\n\
         {{\"type\":\"register_tool\",\"name\":\"{name}\",\"description\":\"none\",\
         \"schema\":{{\"type\":\"object\"}}}}\n\
         {subscription}{{\"type\":\"ready\"}}\n"
    )
}

fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(key).map(|(_, rest)| rest)
}

fn monotonic_nanoseconds() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}
