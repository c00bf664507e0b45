//! The recent records of all agents, for watchers that reconnect.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Record;

/// How many records are kept.
///
/// Limit: the oldest record is forgotten; a watcher that had not seen it takes a snapshot.
pub const RING_RECORDS: usize = 65_536;

/// How much memory they may take, roughly.
///
/// Limit: the oldest record is forgotten; a watcher that had not seen it takes a snapshot.
pub const RING_BYTES: usize = 64 * 1024 * 1024;

/// The last records in order, without gaps.
#[derive(Debug, Default)]
pub(super) struct Ring {
    records: VecDeque<Arc<Record>>,
    bytes: usize,
    last_seq: u64,
}

impl Ring {
    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Numbers the record and keeps it.
    pub(super) fn push(&mut self, mut record: Record) -> Arc<Record> {
        self.last_seq += 1;
        record.seq = self.last_seq;
        self.bytes += record.weight();
        let record = Arc::new(record);
        self.records.push_back(Arc::clone(&record));
        while self.records.len() > RING_RECORDS
            || (self.bytes > RING_BYTES && self.records.len() > 1)
        {
            let Some(oldest) = self.records.pop_front() else {
                break;
            };
            self.bytes -= oldest.weight();
        }
        record
    }

    /// Whether records after `seq` have been forgotten.
    pub(super) fn has_forgotten(&self, seq: u64) -> bool {
        self.records
            .front()
            .is_some_and(|oldest| oldest.seq > seq + 1)
    }

    /// Returns the first `limit` records after `seq`, none of which may be forgotten.
    pub(super) fn after(&self, seq: u64, limit: usize) -> Vec<Arc<Record>> {
        let Some(oldest) = self.records.front() else {
            return Vec::new();
        };
        let skipped = usize::try_from((seq + 1).saturating_sub(oldest.seq)).unwrap_or(usize::MAX);
        self.records
            .iter()
            .skip(skipped)
            .take(limit)
            .cloned()
            .collect()
    }
}
