//! Replays the recorded requests to the original and compares the responses.
//!
//! `NAME.jsonl` is the original, untouched; records in `NAME.ours.jsonl` replace those of the same name
//! where ours differs on purpose.

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

/// Returns the records of a service, with ours in place of the original's.
pub(crate) fn records(kind: ServiceKind) -> Vec<Record> {
    read_records(kind.name())
}

/// Returns the records of a capture, with ours in place of the original's.
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

/// Sends all recorded requests.
pub(crate) async fn replay(stack: &Stack, kind: ServiceKind, records: &[Record]) {
    for record in records {
        assert_eq!(record.end, "closed");
        let frames = match (&record.req, &record.raw) {
            (Some(request), _) => stack.ask(kind, request.clone()).await,
            (None, Some(raw)) => stack.exchange(kind, &bytes(raw)).await,
            (None, None) => panic!("{}: no request", record.name),
        };
        assert_eq!(frames, record.resp, "{}", record.name);
    }
}

pub(crate) fn bytes(hexadecimal: &str) -> Vec<u8> {
    let pairs = hexadecimal.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
