//! `glasspane tail`: normalises the output of one agent.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};

use clap::Args;
use zot_wire::write_line;

use super::{Failure, SourceArgument};
use crate::record::{Attached, Detached};
use crate::source::{ChildFinding, Finding, Reader, SourceKind};
use crate::{Record, Tracker, now_ms};

/// How much is read at once.
const READ_BYTES: usize = 256 * 1024;

/// Read an agent's events and print normalised records.
#[derive(Debug, Args)]
pub struct TailArguments {
    /// The kind of agent: zot, pi, codex, codex-app-server, claude-code, gemini, qwen, goose, opencode, acp,
    /// zino, glasspane
    #[arg(long, default_value = "auto")]
    pub source: SourceArgument,
    /// The id and label of the agent
    #[arg(long, default_value = "agent", value_name = "NAME")]
    pub agent: String,
}

/// Normalises `input` until it ends or the reader of `output` is gone.
///
/// All input read so far is written before waiting for more.
pub fn tail(
    arguments: &TailArguments,
    input: &mut impl Read,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let mut tail = Tail {
        agent: &arguments.agent,
        attached: Attached {
            label: arguments.agent.clone(),
            source: arguments
                .source
                .0
                .map_or("auto", SourceKind::name)
                .to_owned(),
            ..Attached::default()
        },
        seq: 0,
        lines: Vec::new(),
        trackers: BTreeMap::new(),
    };
    match tail.copy(arguments.source.0, input, output) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        copied => copied.map_err(|error| Failure::Failed(format!("cannot read or write: {error}"))),
    }
}

struct Tail<'a> {
    agent: &'a str,
    attached: Attached,
    seq: u64,
    lines: Vec<u8>,
    /// Trackers of the agent and those it started, by id: the last state of each is how it ended.
    trackers: BTreeMap<String, Tracker>,
}

impl Tail<'_> {
    fn copy(
        &mut self,
        kind: Option<SourceKind>,
        input: &mut impl Read,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let mut reader = Reader::new(kind);
        let mut findings = Vec::new();
        let mut buffer = vec![0; READ_BYTES];
        // A log already records who was attached.
        if kind != Some(SourceKind::Glasspane) {
            let attached = self.attached.clone();
            self.put(Record::of_attached(self.agent, now_ms(), attached))?;
            self.flush(output)?;
        }
        loop {
            let count = match input.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if count == 0 {
                reader.finish(&mut findings);
            } else {
                reader.feed(&buffer[..count], &mut findings);
            }
            let at_ms = now_ms();
            for finding in findings.drain(..) {
                self.finding(finding, at_ms)?;
            }
            if count == 0 && reader.kind() != Some(SourceKind::Glasspane) {
                self.detach(at_ms)?;
            }
            self.flush(output)?;
            if count == 0 {
                return Ok(());
            }
        }
    }

    fn finding(&mut self, finding: Finding, at_ms: u64) -> io::Result<()> {
        let record = match finding {
            Finding::Event(event) => Record::of_event(self.agent, at_ms, event),
            Finding::Usage(usage) => Record::of_usage(self.agent, at_ms, usage),
            Finding::Identity(identity) => {
                if let Some(source) = identity.source {
                    self.attached.source = source.name().to_owned();
                }
                self.attached.model = identity.model.or(self.attached.model.take());
                self.attached.cwd = identity.cwd.or(self.attached.cwd.take());
                Record::of_attached(self.agent, at_ms, self.attached.clone())
            }
            Finding::Record(record) => {
                // A log already records how it ended.
                return self.write(*record);
            }
            Finding::Child(child) => return self.child(*child, at_ms),
        };
        self.put(record)
    }

    fn child(&mut self, child: ChildFinding, at_ms: u64) -> io::Result<()> {
        let id = format!("{}/{}", self.agent, child.key);
        if !self.trackers.contains_key(&id) {
            let attached = Attached {
                label: format!("{} › {}", self.attached.label, child.label),
                parent: Some(self.agent.to_owned()),
                model: None,
                ..self.attached.clone()
            };
            self.put(Record::of_attached(id.clone(), at_ms, attached))?;
        }
        match child.finding {
            Finding::Event(event) => self.put(Record::of_event(id, at_ms, event)),
            Finding::Usage(usage) => self.put(Record::of_usage(id, at_ms, usage)),
            Finding::Identity(_) | Finding::Record(_) | Finding::Child(_) => Ok(()),
        }
    }

    fn detach(&mut self, at_ms: u64) -> io::Result<()> {
        // The agent itself last.
        let ids: Vec<_> = self.trackers.keys().rev().cloned().collect();
        for id in ids {
            let detached = Detached {
                reason: "end of input".to_owned(),
                ..Detached::default()
            };
            self.put(Record::of_detached(id, at_ms, detached))?;
        }
        Ok(())
    }

    fn put(&mut self, mut record: Record) -> io::Result<()> {
        if !self.trackers.contains_key(&record.agent) {
            let tracker = Tracker::new(record.agent.clone());
            self.trackers.insert(record.agent.clone(), tracker);
        }
        if let Some(tracker) = self.trackers.get_mut(&record.agent) {
            tracker.apply(&record);
            if let Some(detached) = &mut record.detached {
                detached.status = Some(tracker.state().status);
            }
        }
        self.write(record)
    }

    fn write(&mut self, mut record: Record) -> io::Result<()> {
        self.seq += 1;
        record.seq = self.seq;
        write_line(&mut self.lines, &record).map_err(io::Error::other)
    }

    fn flush(&mut self, output: &mut impl Write) -> io::Result<()> {
        output.write_all(&self.lines)?;
        self.lines.clear();
        output.flush()
    }
}
