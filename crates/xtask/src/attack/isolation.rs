//! Attacks of confined programs on the agent, its files and its other processes.

use super::Attack;

pub(super) const ATTACKS: &[Attack] = &[];
