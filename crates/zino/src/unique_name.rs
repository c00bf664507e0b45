//! Names that no other process uses, and other random things.

use std::hash::{BuildHasher as _, RandomState};

pub(crate) fn unique_name() -> String {
    // Each has its own random keys.
    let half = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", half(), half())
}

/// A number from 0 to 1.
#[cfg(feature = "nats")]
pub(crate) fn random_fraction() -> f64 {
    let number = RandomState::new().hash_one(0) >> 32;
    f64::from(u32::try_from(number).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}
