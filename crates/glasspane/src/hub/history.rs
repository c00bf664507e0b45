//! The recent records of one agent, for watchers that connect later.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{HISTORY_BYTES, HISTORY_RECORDS, HISTORY_TEXT_BYTES};
use crate::Record;

/// Separate from the ring, which one busy agent could fill.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) records: VecDeque<Arc<Record>>,
    bytes: usize,
}

impl History {
    pub(super) fn push(&mut self, record: Arc<Record>) {
        let record = if record.weight() > size_of::<Record>() + HISTORY_TEXT_BYTES {
            let mut short = (*record).clone();
            short.shorten(HISTORY_TEXT_BYTES);
            Arc::new(short)
        } else {
            record
        };
        self.bytes += record.weight();
        self.records.push_back(record);
        while self.records.len() > HISTORY_RECORDS || self.bytes > HISTORY_BYTES {
            let Some(oldest) = self.records.pop_front() else {
                break;
            };
            self.bytes -= oldest.weight();
        }
    }
}
