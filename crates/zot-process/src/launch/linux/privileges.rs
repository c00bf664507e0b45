//! Removes privileges from a confined child of root: Landlock covers files, and root can bypass them
//! (load a module, read another process's environment, create a device).

use std::sync::OnceLock;

use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
};

/// The capabilities that root keeps, as in containers.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Capabilities to drop.
pub(super) struct Surplus {
    /// Every `exec` gives root the capabilities in its bounding set.
    bounding: Vec<CapabilitySet>,
    sets: CapabilitySets,
}

impl Surplus {
    /// Returns the capabilities to drop; `None` if there are none or they cannot be dropped. A child in
    /// a new user namespace has every capability there.
    pub(super) fn present(in_user_namespace: bool) -> Option<Self> {
        let mut sets = capabilities(None).ok()?;
        let has_setpcap = sets.effective.contains(CapabilitySet::SETPCAP) || in_user_namespace;
        let bounding = match (has_setpcap, in_user_namespace) {
            // There, the set is full again.
            (_, true) => every_surplus().map(|(capability, _)| capability).collect(),
            (true, false) => surplus_bounding(),
            (false, false) => Vec::new(),
        };
        if bounding.is_empty() && sets.permitted.is_empty() && sets.inheritable.is_empty() {
            return None;
        }
        sets.inheritable = sets.inheritable.intersection(KEPT);
        Some(Self { bounding, sets })
    }

    /// Makes system calls only.
    pub(super) fn drop_all(&self) -> rustix::io::Result<()> {
        for &capability in &self.bounding {
            remove_capability_from_bounding_set(capability)?;
        }
        clear_ambient_capability_set()?;
        set_capabilities(None, self.sets)
    }
}

/// Returns whether a child keeps capabilities because we lack the one to drop them.
pub(super) fn are_kept() -> bool {
    let can_drop =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SETPCAP));
    geteuid().is_root() && !can_drop && !surplus_bounding().is_empty()
}

/// Returns every capability of the bounding set that is not kept, one by one. Asked once: nothing of
/// ours changes the set.
fn surplus_bounding() -> Vec<CapabilitySet> {
    static SURPLUS: OnceLock<Vec<CapabilitySet>> = OnceLock::new();
    SURPLUS.get_or_init(find_surplus).clone()
}

fn find_surplus() -> Vec<CapabilitySet> {
    every_surplus()
        .filter(|&(_, is_present)| is_present)
        .map(|(capability, _)| capability)
        .collect()
}

/// Returns every capability that is not kept, and whether it is in the bounding set.
fn every_surplus() -> impl Iterator<Item = (CapabilitySet, bool)> {
    let every = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    every
        // An error means an unknown capability: there are no more.
        .map_while(|capability| Some((capability, capability_is_in_bounding_set(capability).ok()?)))
        .filter(|&(capability, _)| !KEPT.contains(capability))
}
