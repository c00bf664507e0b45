//! How many files and connections the process may have open.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most descriptors requested: more would only hide a leak for longer.
const MAX_DESCRIPTORS: u64 = 65_536;

/// Descriptors one request may need: its connection, one to the next service, one to the model, a file.
const DESCRIPTORS_PER_CONNECTION: u64 = 4;

/// The most clients a service serves at a time, however many descriptors it has.
///
/// Limit: further connections of a service wait in the socket's queue.
const MAX_SERVICE_CONNECTIONS: usize = 4096;

/// The fewest clients a service serves at a time, however few descriptors it has.
const MIN_SERVICE_CONNECTIONS: usize = 16;

/// The limit the process was started with, once it was raised.
static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the descriptor limit as far as the system allows, and returns how many connections a
/// service may serve at a time. Further ones wait: without a descriptor a request would fail halfway,
/// without storing its history.
pub(crate) fn connections() -> usize {
    usize::try_from(raise_limit() / DESCRIPTORS_PER_CONNECTION)
        .unwrap_or(MAX_SERVICE_CONNECTIONS)
        .clamp(MIN_SERVICE_CONNECTIONS, MAX_SERVICE_CONNECTIONS)
}

/// Raises the descriptor limit as far as the system allows, and returns it.
pub(crate) fn raise_limit() -> u64 {
    let present = getrlimit(Resource::Nofile);
    let wanted = present
        .maximum
        .map_or(MAX_DESCRIPTORS, |most| most.min(MAX_DESCRIPTORS));
    match present.current {
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
        None => MAX_DESCRIPTORS,
    }
}

/// The descriptor limit we were started with, whether it was raised already or not. Programs get the
/// original: some close every possible descriptor one by one.
pub(crate) fn original() -> Option<u64> {
    let original = ORIGINAL.get().copied();
    original
        .unwrap_or_else(|| getrlimit(Resource::Nofile))
        .current
}
