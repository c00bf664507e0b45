//! Replays what the original was asked and compares the answers.
//!
//! `NAME.jsonl` is the original, untouched; records in `NAME.ours.jsonl` stand in for those of the
//! same name where ours is meant to differ.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use zino::kind::ServiceKind;

use crate::stack::Stack;

#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    /// How the connection ended; always by the service.
    pub(crate) end: String,
    pub(crate) req: Option<Value>,
    /// Bytes to send instead, in hexadecimal.
    pub(crate) raw: Option<String>,
    pub(crate) resp: Vec<Value>,
    pub(crate) note: Option<String>,
}

/// The records of a service, ours in the place of the original's.
pub(crate) fn records(kind: ServiceKind) -> Vec<Record> {
    read_records(kind.name())
}

/// The records of a capture, ours in the place of the original's.
pub(crate) fn read_records(name: &str) -> Vec<Record> {
    let mut records = read(&format!("{name}.jsonl")).unwrap();
    for ours in read(&format!("{name}.ours.jsonl")).unwrap_or_default() {
        let replaced = records.iter_mut().find(|record| record.name == ours.name);
        *replaced.expect("ours replaces a record") = ours;
    }
    records
}

fn read(name: &str) -> Option<Vec<Record>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/zino");
    let text = fs::read_to_string(directory.join(name)).ok()?;
    let lines = text.lines();
    Some(
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// Asks everything again.
pub(crate) async fn replay(stack: &Stack, kind: ServiceKind, records: &[Record]) {
    for record in records {
        assert_eq!(record.end, "closed");
        let frames = match (&record.req, &record.raw) {
            (Some(request), _) => stack.ask(kind, request.clone()).await,
            (None, Some(raw)) => stack.exchange(kind, &bytes(raw)).await,
            (None, None) => panic!("{}: nothing to ask", record.name),
        };
        assert_eq!(frames, record.resp, "{}", record.name);
    }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let pairs = hexadecimal.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
