//! A process of the same user outside of the sandbox, which tells what happened to it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::Value;

use crate::confined::python;

const SOURCE: &str = include_str!("attempts/bystander.py");
const INTERNET: &str = include_str!("attempts/internet.py");

/// How long it may take to answer; one that was stopped never does.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether the bystander keeps the hosts of an internet, which takes a network of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Internet {
    None,
    Small,
}

pub(crate) struct Bystander {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    facts: Value,
    before: String,
}

impl Bystander {
    /// Starts it with `secret` in its memory, its environment and its command line, working in the
    /// directory `outside` of `root`. `internet` says whether it also keeps the hosts of a small internet.
    pub(crate) fn new(root: &Path, secret: &str, internet: Internet) -> Self {
        let internet_code = match internet {
            Internet::None => "",
            Internet::Small => INTERNET,
        };
        let code = format!("{SOURCE}\n{internet_code}\nmain()\n");
        let mut child = Command::new(python())
            .args(["-I", "-S", "-c"])
            .arg(code)
            .arg(root)
            .arg(secret)
            .arg(format!("{internet:?}"))
            .current_dir(root.join("outside"))
            .env("SECRET", secret)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = sync_channel(16);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let facts = lines.recv_timeout(PATIENCE).expect("the bystander starts");
        let mut bystander = Self {
            input: child.stdin.take(),
            child,
            lines,
            facts: serde_json::from_str(&facts).unwrap(),
            before: String::new(),
        };
        bystander.before = bystander.state();
        bystander
    }

    /// Returns what attempts may know about it.
    pub(crate) fn facts(&self) -> &Value {
        &self.facts
    }

    /// Returns what was done to it since the start.
    pub(crate) fn changes(&mut self) -> Option<String> {
        let now = self.state();
        if now == self.before {
            return None;
        }
        let (before, after): (Value, Value) = (
            serde_json::from_str(&self.before).unwrap_or_default(),
            serde_json::from_str(&now).unwrap_or_default(),
        );
        let Some(fields) = after.as_object() else {
            return Some(now);
        };
        let changed = fields
            .iter()
            .filter(|(name, value)| before[*name] != **value);
        let changed: Vec<String> = changed
            .map(|(name, value)| format!("{name}: {} became {value}", before[name]))
            .collect();
        Some(format!("the bystander's {}", changed.join(", ")))
    }

    fn state(&mut self) -> String {
        let asked = self.input.as_mut().unwrap().write_all(b"state\n");
        match (asked, self.lines.recv_timeout(PATIENCE)) {
            (Ok(()), Ok(state)) => state,
            _ => "the bystander does not answer".to_owned(),
        }
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        // The end of its input makes it clean up.
        self.input = None;
        let _ = self.child.wait();
    }
}
