//! What clients were told, compared with what the database holds.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::client::{Ending, Turn};
use super::site::Site;

/// The turns of a proof and how they ended.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Vec<(Turn, Ending)>>);

/// The differences between a [`Ledger`] and the database.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Audit {
    pub(crate) saved: usize,
    pub(crate) unsaved: usize,
    pub(crate) failed: usize,
    /// Turns whose client lost its connection.
    pub(crate) unknown: usize,
    /// Acknowledged, but not in the database.
    pub(crate) lost: usize,
    /// In the database more than once.
    pub(crate) doubled: usize,
    /// Refused or broken off, but in the database.
    pub(crate) stored_anyway: usize,
    /// Reported as unsaved, because the database did not confirm it in time, but in the database.
    pub(crate) unconfirmed: usize,
    /// In the database, but never sent.
    pub(crate) foreign: usize,
    /// Channels whose entries are not numbered 1, 2, 3 …
    pub(crate) gaps: usize,
}

impl Ledger {
    pub(crate) fn note(&self, turn: Turn, ending: Ending) {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.push((turn, ending));
    }

    /// Compares with everything that the database holds.
    pub(crate) fn audit(&self, site: &Site) -> anyhow::Result<Audit> {
        let mut stored = stored_messages(site)?;
        let mut audit = Audit {
            gaps: channels_with_gaps(site)?,
            ..Audit::default()
        };
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (turn, ending) in turns.iter() {
            let key = (turn.channel.clone(), turn.message.clone());
            let count = stored.remove(&key).unwrap_or_default();
            audit.doubled += usize::from(count > 1);
            match ending {
                Ending::Saved => {
                    audit.saved += 1;
                    audit.lost += usize::from(count == 0);
                }
                Ending::Unsaved(_) => {
                    audit.unsaved += 1;
                    audit.unconfirmed += usize::from(count > 0);
                }
                Ending::Failed { .. } => {
                    audit.failed += 1;
                    audit.stored_anyway += usize::from(count > 0);
                }
                Ending::Lost => audit.unknown += 1,
            }
        }
        audit.foreign = stored.len();
        Ok(audit)
    }
}

impl Audit {
    /// Returns whether nothing is lost, doubled, or stored against what was reported.
    pub(crate) fn is_clean(&self) -> bool {
        self.lost + self.doubled + self.stored_anyway + self.foreign + self.gaps == 0
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} saved, {} unsaved (of which {} are stored), {} failed, {} unknown; {} lost, {} doubled, \
             {} stored although refused, {} never sent, {} channels with gaps",
            self.saved,
            self.unsaved,
            self.unconfirmed,
            self.failed,
            self.unknown,
            self.lost,
            self.doubled,
            self.stored_anyway,
            self.foreign,
            self.gaps
        )
    }
}

/// Counts the users' messages in the database, by channel and text.
fn stored_messages(site: &Site) -> anyhow::Result<HashMap<(String, String), usize>> {
    let rows = site.sql(
        "select channel || ' ' || (message::json->>'content') from zino_history \
         where message::json->>'role' = 'user'",
    );
    let mut stored = HashMap::new();
    for row in rows.lines() {
        let (channel, message) = row.split_once(' ').context("a channel and a message")?;
        let key = (channel.to_owned(), message.to_owned());
        *stored.entry(key).or_default() += 1;
    }
    Ok(stored)
}

/// Counts channels whose entries are not numbered densely from 1.
fn channels_with_gaps(site: &Site) -> anyhow::Result<usize> {
    let count = site.sql(
        "select count(*) from (select channel from zino_entry group by channel \
         having min(sequence) <> 1 or max(sequence) <> count(*)) as odd",
    );
    count.trim().parse().context("a number of channels")
}
