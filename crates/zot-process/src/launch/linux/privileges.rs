//! What a confined child of root loses: Landlock watches files, and much that root may do goes
//! around them (load a module, read the environment of others, make a device).

use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
};

/// What root keeps: other users' files and names, as in containers.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Privileges to lose.
pub(super) struct Surplus {
    /// Root gets what is in its bounding set by every `exec`.
    bounding: Vec<CapabilitySet>,
    sets: CapabilitySets,
}

impl Surplus {
    /// What to lose here; nothing when there is nothing or it cannot be lost. A child with a user
    /// namespace of its own has every privilege in that.
    pub(super) fn present(in_user_namespace: bool) -> Option<Self> {
        let mut sets = capabilities(None).ok()?;
        let has_setpcap = sets.effective.contains(CapabilitySet::SETPCAP) || in_user_namespace;
        let bounding = if has_setpcap {
            surplus_bounding()
        } else {
            Vec::new()
        };
        if bounding.is_empty() && sets.permitted.is_empty() && sets.inheritable.is_empty() {
            return None;
        }
        sets.inheritable = sets.inheritable.intersection(KEPT);
        Some(Self { bounding, sets })
    }

    /// Makes system calls only.
    pub(super) fn lose(&self) -> rustix::io::Result<()> {
        for &capability in &self.bounding {
            remove_capability_from_bounding_set(capability)?;
        }
        clear_ambient_capability_set()?;
        set_capabilities(None, self.sets)
    }
}

/// Whether a child keeps privileges because we lack the one for giving them up.
pub(super) fn are_kept() -> bool {
    let can_lose =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SETPCAP));
    geteuid().is_root() && !can_lose && !surplus_bounding().is_empty()
}

/// Everything in the bounding set that is not to be kept, one by one.
fn surplus_bounding() -> Vec<CapabilitySet> {
    let every = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    every
        // The kernel answers with an error for those it does not know: there are no more.
        .map_while(|capability| Some((capability, capability_is_in_bounding_set(capability).ok()?)))
        .filter(|&(capability, is_there)| is_there && !KEPT.contains(capability))
        .map(|(capability, _)| capability)
        .collect()
}
