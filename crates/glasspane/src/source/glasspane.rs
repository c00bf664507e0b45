//! Logs of Glasspane itself.

use serde::Deserialize as _;
use serde_json::Value;

use super::fields::push;
use super::{Dialect, Finding};
use crate::{Event, Record};

#[derive(Debug)]
pub(super) struct Log;

impl Dialect for Log {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match Record::deserialize(object) {
            Ok(record) if !record.agent.is_empty() => {
                findings.push(Finding::Record(Box::new(record)));
            }
            _ => push(findings, Event::unknown("not a record")),
        }
    }
}
