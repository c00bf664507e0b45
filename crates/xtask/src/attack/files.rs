//! Attacks through files: links, pipes, devices, full disks, permissions.

use super::Attack;

pub(super) const ATTACKS: &[Attack] = &[];
