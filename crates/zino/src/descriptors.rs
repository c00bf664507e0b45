//! How many files and connections the process may have open.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More would only let a mistake go unnoticed longer.
const ENOUGH: u64 = 65_536;

/// What one request may need: its connection, one to the next service, one to the model, a file.
const PER_CONNECTION: u64 = 4;

/// How many clients a service has at a time when descriptors are no matter.
///
/// Limit: further connections of a service wait in the socket's queue.
const MAX_SERVICE_CONNECTIONS: usize = 4096;

/// However few descriptors there are.
const MIN_SERVICE_CONNECTIONS: usize = 16;

/// What the process was started with, once that was changed.
static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Asks for as many descriptors as the system lets us have, and returns how many connections a
/// service may serve at a time with them. More wait: without a descriptor a request would fail half
/// way, its history not stored.
pub(crate) fn connections() -> usize {
    let present = getrlimit(Resource::Nofile);
    let wanted = present.maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
    let limit = match present.current {
        Some(current) if current < wanted => {
            let raised = Rlimit {
                current: Some(wanted),
                maximum: present.maximum,
            };
            match setrlimit(Resource::Nofile, raised) {
                Ok(()) => {
                    let _ = ORIGINAL.set(present);
                    wanted
                }
                Err(_) => current,
            }
        }
        Some(current) => current,
        None => ENOUGH,
    };
    usize::try_from(limit / PER_CONNECTION)
        .unwrap_or(MAX_SERVICE_CONNECTIONS)
        .clamp(MIN_SERVICE_CONNECTIONS, MAX_SERVICE_CONNECTIONS)
}

/// How many descriptors we were started with, where that was changed: programs get as many. Some walk
/// through all descriptors there may be.
pub(crate) fn original() -> Option<u64> {
    ORIGINAL.get().and_then(|original| original.current)
}
