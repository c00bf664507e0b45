//! `zot rpc` and `zot --json`: the events of `docs/events.md`.

mod piece;

use serde_json::Value;

pub(super) use piece::piece;

use super::fields::{cost, count, push, push_usage, text};
use super::{Dialect, Finding};
use crate::{Usage, normalize};

/// Both modes of zot say the same; they differ in what follows `done`, which is the tracker's affair.
#[derive(Debug, Default)]
pub(super) struct Zot {
    used: Usage,
}

impl Dialect for Zot {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        if text(object, "type") == Some("usage") {
            self.usage(object);
            push_usage(findings, self.used);
        }
        if let Some(event) = normalize(object) {
            push(findings, event);
        }
    }
}

impl Zot {
    fn usage(&mut self, object: &Value) {
        match object.get("cumulative") {
            Some(cumulative) => self.used = read_usage(cumulative),
            None => self.used.add(&read_usage(object)),
        }
    }
}

fn read_usage(object: &Value) -> Usage {
    Usage {
        input_tokens: count(object, "input"),
        output_tokens: count(object, "output"),
        cache_read_tokens: count(object, "cache_read"),
        cache_write_tokens: count(object, "cache_write"),
        cost_usd: cost(object, "cost_usd"),
    }
}
