//! Turns bytes into findings.

use std::collections::HashMap;

use serde_json::Value;
use zot_wire::{FrameDecoder, Line, LineDecoder, MAX_WIRE_LINE_BYTES};

use super::detect::{detect, detect_text};
use super::undecided::Undecided;
use super::zot::piece;
use super::{Dialect, Finding, Identity, SourceKind};
use crate::{Event, Usage};

/// How much of a line that is not understood is shown.
///
/// Limit: a line that is not understood is cut.
pub const MAX_UNKNOWN_LINE_BYTES: usize = 200;

/// Reads the output of one agent, in pieces of any size.
pub struct Reader {
    framing: Framing,
    dialect: Box<dyn Dialect>,
    kind: Option<SourceKind>,
    /// The usage last reported for the agent and for those it started.
    used: HashMap<Option<String>, Usage>,
    /// Whether it has printed anything, and whether anything was reported about its work.
    has_output: bool,
    has_reported: bool,
}

enum Framing {
    /// Undecided until the first byte: a frame below 16 MiB begins with a zero, a line never does.
    Open,
    Lines(LineDecoder),
    Frames(FrameDecoder),
    /// After an unreadable frame the next cannot be found.
    Lost,
}

impl Reader {
    /// Reads agents of `kind`, or detects it.
    pub fn new(kind: Option<SourceKind>) -> Self {
        Self {
            framing: Framing::Open,
            dialect: kind.map_or_else(
                || Box::new(Undecided) as Box<dyn Dialect>,
                SourceKind::dialect,
            ),
            kind,
            used: HashMap::new(),
            has_output: false,
            has_reported: false,
        }
    }

    /// The kind, once known.
    pub fn kind(&self) -> Option<SourceKind> {
        self.kind
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8], findings: &mut Vec<Finding>) {
        if let (Framing::Open, Some(first)) = (&self.framing, bytes.first()) {
            self.framing = if *first == 0 {
                Framing::Frames(FrameDecoder::with_limit(MAX_WIRE_LINE_BYTES))
            } else {
                Framing::Lines(LineDecoder::default())
            };
        }
        // Taken out while lines are borrowed from it.
        let mut framing = std::mem::replace(&mut self.framing, Framing::Open);
        match &mut framing {
            Framing::Lines(decoder) => {
                decoder.feed(bytes);
                while let Some(line) = decoder.next_line() {
                    self.line(line, findings);
                }
            }
            Framing::Frames(decoder) => {
                decoder.feed(bytes);
                loop {
                    match decoder.next_frame() {
                        Ok(Some(body)) => self.line(Line::Complete(body), findings),
                        Ok(None) => break,
                        Err(error) => {
                            unknown("frame too long", &error.to_string(), findings);
                            framing = Framing::Lost;
                            break;
                        }
                    }
                }
            }
            Framing::Open | Framing::Lost => {}
        }
        self.framing = framing;
    }

    /// Handles the end of the output: an incomplete last line is read as a line.
    pub fn finish(&mut self, findings: &mut Vec<Finding>) {
        match std::mem::replace(&mut self.framing, Framing::Open) {
            Framing::Lines(mut decoder) => {
                if let Some(line) = decoder.finish() {
                    self.line(line, findings);
                }
            }
            Framing::Frames(decoder) if decoder.is_partial() => {
                unknown("frame cut off", "", findings);
            }
            _ => {}
        }
        let from = findings.len();
        self.dialect.finish(findings);
        self.note(&mut findings[from..]);
        // It ended before it did any work.
        if self.has_output && !self.has_reported {
            findings.push(Finding::Event(Event::aborted()));
        }
    }

    /// Drops an incomplete line: what follows was rewritten from the start.
    pub fn restart(&mut self) {
        self.framing = Framing::Open;
    }

    fn line(&mut self, line: Line<'_>, findings: &mut Vec<Finding>) {
        let bytes = match line {
            Line::Complete(bytes) => bytes.trim_ascii(),
            Line::TooLong => return unknown("line too long", "", findings),
        };
        if bytes.is_empty() {
            return;
        }
        self.has_output = true;
        if self.kind == Some(SourceKind::Zot)
            && let Some(event) = piece(bytes)
        {
            self.has_reported = true;
            findings.push(Finding::Event(event));
            return;
        }
        match serde_json::from_slice::<Value>(bytes) {
            Ok(object) if object.is_object() => {
                if self.kind.is_none() {
                    self.decide(detect(&object), findings);
                }
                let from = findings.len();
                self.dialect.read(&object, findings);
                self.note(&mut findings[from..]);
            }
            _ => self.read_text(bytes, findings),
        }
    }

    fn decide(&mut self, kind: Option<SourceKind>, findings: &mut Vec<Finding>) {
        let Some(kind) = kind else { return };
        self.kind = Some(kind);
        self.dialect = kind.dialect();
        findings.push(Finding::Identity(Identity {
            source: Some(kind),
            ..Identity::default()
        }));
    }

    /// Notes what was reported, and never lets usage decrease: some agents report that of the session, some that
    /// of the last call, and some nothing after an interruption.
    fn note(&mut self, findings: &mut [Finding]) {
        for finding in findings {
            let is_notice =
                matches!(finding, Finding::Event(event) if event.kind == crate::Kind::Notice);
            self.has_reported |= !is_notice && !matches!(finding, Finding::Identity(_));
            let (key, usage) = match finding {
                Finding::Usage(usage) => (None, usage),
                Finding::Child(child) => match &mut child.finding {
                    Finding::Usage(usage) => (Some(child.key.clone()), usage),
                    _ => continue,
                },
                _ => continue,
            };
            let highest = self.used.entry(key).or_default();
            highest.raise_to(usage);
            *usage = *highest;
        }
    }

    fn read_text(&mut self, bytes: &[u8], findings: &mut Vec<Finding>) {
        self.has_reported = true;
        let Ok(text) = str::from_utf8(bytes) else {
            return unknown("not UTF-8", &String::from_utf8_lossy(bytes), findings);
        };
        if self.kind.is_none() {
            self.decide(detect_text(text), findings);
        }
        if !self.dialect.read_text(text, findings) {
            unknown("not JSON", text, findings);
        }
    }
}

fn unknown(what: &str, line: &str, findings: &mut Vec<Finding>) {
    let shown = &line[..line.floor_char_boundary(MAX_UNKNOWN_LINE_BYTES)];
    findings.push(Finding::Event(Event {
        message: (!shown.is_empty()).then(|| shown.to_owned()),
        ..Event::unknown(what)
    }));
}
