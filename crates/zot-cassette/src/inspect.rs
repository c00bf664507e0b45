//! Inspects a cassette: lists its exchanges and checks every line.

use std::path::Path;

use zot_conversation::{ModelEvent, StopReason, Usage};

use super::error::{CassetteError, LineProblem};
use super::exchange::{ExchangeLine, Outcome, Played};
use super::header::Header;
use super::reader::{CassetteReader, Resolver};
use super::redaction::Redactor;
use super::tape::Tape;

/// The result of an inspection.
#[derive(Debug)]
pub struct Inspection {
    pub header: Header,
    pub exchanges: Vec<ExchangeSummary>,
}

/// One exchange in short.
#[derive(Debug, Clone, PartialEq)]
pub struct ExchangeSummary {
    pub number: usize,
    /// Prefixed with the provider if that differs from the header's.
    pub model: String,
    /// Messages of the whole request.
    pub messages: usize,
    /// Messages that the exchange it continues did not have.
    pub new_messages: usize,
    pub events: usize,
    pub duration_ms: u64,
    /// The stop reason, or the error.
    pub ending: String,
    pub usage: Usage,
    /// Places that look like secrets.
    pub secrets: usize,
}

/// Reads and checks a whole cassette, and counts what `redactor` finds.
pub fn inspect(path: &Path, redactor: &Redactor) -> Result<Inspection, CassetteError> {
    let mut reader = CassetteReader::open(path)?;
    let mut resolver = Resolver::default();
    let mut exchanges = Vec::new();
    while let Some(line) = reader.next()? {
        match summarise(line, &mut resolver, redactor) {
            Ok(summary) => exchanges.push(summary),
            Err(problem) => return Err(reader.line_error(problem)),
        }
    }
    Ok(Inspection {
        header: reader.header().clone(),
        exchanges,
    })
}

fn summarise(
    line: ExchangeLine<'_>,
    resolver: &mut Resolver,
    redactor: &Redactor,
) -> Result<ExchangeSummary, LineProblem> {
    let number = line.exchange;
    let whole = resolver.resolve(number, &line.request)?;
    let messages = whole.messages.len();
    resolver.keep(whole);
    let failure = line.failure()?;
    let mut ending = match (line.outcome, &line.error) {
        (Outcome::Aborted, _) => "aborted".to_owned(),
        (_, Some(error)) if failure.is_some() => format!("error: {}", error.kind.as_str()),
        _ => "no end marker".to_owned(),
    };
    let mut summary = ExchangeSummary {
        number,
        model: match &line.request.provider {
            Some(provider) => format!("{provider}/{}", line.request.model),
            None => line.request.model.clone().into_owned(),
        },
        messages,
        new_messages: line.request.messages.len(),
        events: 0,
        duration_ms: line.duration_ms,
        ending: String::new(),
        usage: Usage::default(),
        secrets: 0,
    };
    let error = failure.map(|error| error.message).unwrap_or_default();
    let system = line.request.system.as_deref().unwrap_or_default();
    let texts = [line.request.model.as_ref(), system, &error];
    summary.secrets += texts
        .map(|text| redactor.find(text).len())
        .iter()
        .sum::<usize>();
    let parts = line.request.messages.iter().copied();
    for part in parts.chain(line.request.tools) {
        let redacted = redactor.apply_to_json(part);
        summary.secrets += usize::from(redacted.map_err(LineProblem::Malformed)?.is_some());
    }
    let mut tape = Tape::default();
    for event in line.events {
        let mut add = |event: ModelEvent| {
            summary.events += 1;
            match &event {
                ModelEvent::Usage(usage) => summary.usage = *usage,
                ModelEvent::Stop(reason) if line.outcome == Outcome::Complete => {
                    ending = stop_word(*reason).to_owned();
                }
                _ => {}
            }
            tape.push(0, &event);
        };
        match event.play(number)? {
            Played::One(event) => add(event),
            Played::Deltas(kind, deltas) => deltas.for_each(|delta| add(kind.event(delta))),
        }
    }
    summary.secrets += tape.count_secrets(redactor);
    summary.ending = ending;
    Ok(summary)
}

fn stop_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::End => "end",
        StopReason::ToolUse => "tool_use",
        StopReason::Length => "length",
        StopReason::Refused => "refused",
    }
}
