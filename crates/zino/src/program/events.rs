//! `zino events`: prints what happens on the bus as records of Glasspane.

mod card;
mod fleet;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Write};

use glasspane::{Batch, Hub, Subscription};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};
use zot_wire::write_line;

use crate::bus::{Bus, BusError, Sight};
use crate::config::Config;
use crate::logging::{Level, Log};

use fleet::{ABSENCE_INTERVAL, Fleet};

/// How many sights are taken before their records are printed.
const SIGHTS_PER_TURN: usize = 1024;

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    #[error("there is no bus to watch: set [bus] url")]
    NoBus,
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("cannot write: {0}")]
    Output(io::Error),
    #[error("the connection to the bus has ended")]
    Ended,
}

/// Prints records until a signal comes or nobody reads them.
pub async fn events(config: &Config, output: &mut impl Write) -> Result<(), EventsError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(EventsError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(EventsError::Signals)?;
    // Records are the output; only what is wrong is worth another line.
    let log = Log::new("events", config.log_level().max(Level::Warning));
    let bus = Bus::connect(config, &config.bus_identity("client"), log).await?;
    let bus = bus.ok_or(EventsError::NoBus)?;
    let mut watch = bus.watch().await?;
    let hub = Hub::new();
    let mut records = hub.subscribe(0);
    let mut fleet = Fleet::new(hub);
    let mut absences = interval(ABSENCE_INTERVAL);
    absences.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = absences.tick() => fleet.look(),
            sight = watch.next() => {
                see(&mut fleet, sight.ok_or(EventsError::Ended)?);
                for _ in 0..SIGHTS_PER_TURN {
                    tokio::select! {
                        biased;
                        sight = watch.next() => see(&mut fleet, sight.ok_or(EventsError::Ended)?),
                        () = std::future::ready(()) => break,
                    }
                }
            }
        }
        match print(&mut records, output) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            printed => printed.map_err(EventsError::Output)?,
        }
    }
}

fn see(fleet: &mut Fleet, sight: Sight) {
    match sight {
        Sight::Instance(instance) => fleet.see_instance(instance),
        Sight::Event {
            kind,
            token,
            payload,
        } => fleet.see_event(&kind, &token, &payload),
    }
}

fn print(records: &mut Subscription, output: &mut impl Write) -> io::Result<()> {
    let mut lines = Vec::new();
    // Printed after every step, so none is forgotten in between.
    while let Some(Batch::Records { records, .. }) = records.take() {
        for record in records {
            write_line(&mut lines, record.as_ref()).map_err(io::Error::other)?;
        }
    }
    output.write_all(&lines)?;
    output.flush()
}
