//! Names that no other process uses.

use std::hash::{BuildHasher as _, RandomState};

pub(crate) fn unique_name() -> String {
    // Each has its own random keys.
    let half = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", half(), half())
}
