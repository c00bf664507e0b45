//! Clients that send one turn after the other.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::client::{Ending, Turn, turn};
use super::ledger::Ledger;

/// One turn, from its client's view.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) begun: Instant,
    pub(crate) took: Duration,
    pub(crate) ending: Ending,
}

/// What turns clients send, and where.
pub(crate) struct Load {
    /// Distinguishes its turns from those of other loads.
    pub(crate) name: String,
    /// The daemons; turn by turn another one.
    pub(crate) daemons: Vec<PathBuf>,
    pub(crate) clients: usize,
    pub(crate) channels: usize,
    /// How many turns; without end if absent.
    pub(crate) turns: Option<usize>,
}

impl Load {
    /// Sends turns until all are sent or `stop` is true.
    pub(crate) fn run(&self, ledger: &Ledger, stop: &AtomicBool) -> Vec<Sample> {
        let next = AtomicUsize::new(0);
        let samples = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.clients {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if self.turns.is_some_and(|turns| number >= turns) {
                            break;
                        }
                        let sample = self.send(number, ledger);
                        let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
                        samples.push(sample);
                    }
                });
            }
        });
        samples.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, number: usize, ledger: &Ledger) -> Sample {
        let message = Turn {
            channel: format!("load-{}", number % self.channels),
            message: format!("say:1 {} {number}", self.name),
        };
        // The node changes from one turn of a channel to the next.
        let daemon = &self.daemons[(number + number / self.channels) % self.daemons.len()];
        let begun = Instant::now();
        let ending = turn(daemon, &message);
        let sample = Sample {
            begun,
            took: begun.elapsed(),
            ending: ending.clone(),
        };
        ledger.note(message, ending);
        sample
    }
}
