//! Compares policies.

use zot_process::sandbox::{Level, Limits, Policy};

/// Returns whether `policy` allows nothing that `bound` does not.
pub(super) fn is_within(policy: &Policy, bound: &Policy) -> bool {
    let (rules, limit) = (&policy.rules, &bound.rules);
    let connects = limit.allows_every_host() || are_among(&rules.connect, &limit.connect);
    let runs = match (&rules.run, &limit.run) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(programs), Some(allowed)) => are_among(programs, allowed),
    };
    let is_confined_alike = bound.level == Level::Off
        || connects
            && runs
            && are_among(&rules.read, &limit.read)
            && are_among(&rules.write, &limit.write)
            && are_among(&rules.unix_sockets, &limit.unix_sockets)
            && (limit.inherits_environment || !rules.inherits_environment)
            && (rules.hides_system_from_tools || !limit.hides_system_from_tools);
    policy.level >= bound.level
        && is_confined_alike
        && are_among(&rules.environment, &limit.environment)
        && is_limited(&rules.limits, &limit.limits)
}

fn are_among<T: PartialEq>(entries: &[T], allowed: &[T]) -> bool {
    entries.iter().all(|entry| allowed.contains(entry))
}

fn is_limited(limits: &Limits, bound: &Limits) -> bool {
    let is_lower = |limit: Option<u64>, bound: Option<u64>| match (limit, bound) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(limit), Some(bound)) => limit <= bound,
    };
    is_lower(limits.memory_bytes, bound.memory_bytes)
        && is_lower(limits.processes, bound.processes)
        && is_lower(limits.processor_seconds, bound.processor_seconds)
        && is_lower(limits.open_files, bound.open_files)
}

#[cfg(test)]
mod tests;
