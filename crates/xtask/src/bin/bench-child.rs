//! An extension that does almost nothing, for `cargo xtask bench ext`.
//!
//! `bench-child NAME` registers a tool and a command called NAME and answers tool calls. With `watch`
//! it also records the delay of each message; with `stuck` it subscribes to messages and never reads.
//! It does the same whether zot or the bench started it.

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
