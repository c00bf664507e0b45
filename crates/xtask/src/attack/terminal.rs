//! Attacks through what servers, models and tools send: endless responses, terminal escapes, keys
//! that are echoed.

use super::Attack;

pub(super) const ATTACKS: &[Attack] = &[];
