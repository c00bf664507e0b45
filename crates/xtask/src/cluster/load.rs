//! Clients that send one turn after the other.

use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::bus_client::BusClient;
use super::client::{Ending, Turn, turn};
use super::ledger::Ledger;

/// One turn, from its client's view.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) begun: Instant,
    pub(crate) took: Duration,
    pub(crate) ending: Ending,
}

/// Where clients send a turn.
#[derive(Clone)]
pub(crate) enum Entrance {
    /// To the daemon at this socket.
    Socket(PathBuf),
    /// To any daemon on the bus.
    Bus(Arc<BusClient>),
}

/// What turns clients send, and where.
pub(crate) struct Load {
    /// Distinguishes its turns from those of other loads.
    pub(crate) name: String,
    /// What the model is told to do; `%NAME%` is different in every turn.
    pub(crate) directive: &'static str,
    /// Turn by turn another one.
    pub(crate) entrances: Vec<Entrance>,
    pub(crate) clients: usize,
    /// With what the names of its channels begin.
    pub(crate) channel_prefix: String,
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
            channel: format!("{}-{}", self.channel_prefix, number % self.channels),
            message: self
                .directive
                .replace("%NAME%", &format!("{} {number}", self.name)),
        };
        // The node changes from one turn of a channel to the next.
        let count = self.entrances.len();
        let entrance = &self.entrances[(number + number / self.channels) % count];
        let begun = Instant::now();
        let ending = match entrance {
            Entrance::Socket(daemon) => turn(daemon, &message),
            Entrance::Bus(client) => client.turn(&message),
        };
        let sample = Sample {
            begun,
            took: begun.elapsed(),
            ending: ending.clone(),
        };
        ledger.note(message, ending);
        sample
    }
}
