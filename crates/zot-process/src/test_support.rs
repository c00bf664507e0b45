//! What the tests of this crate share.

use std::time::{Duration, Instant};

/// Waits until no living process belongs to `group`; fails after five seconds.
pub(crate) fn wait_until_group_is_gone(group: &str) {
    assert!(
        group.parse::<u32>().is_ok(),
        "not a process group: {group:?}"
    );
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let members = living_members(group);
        if members.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still alive: {members:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The `/proc/*/stat` lines of the processes of `group` that are not zombies.
fn living_members(group: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| {
            let fields = stat.rsplit(')').next().unwrap_or_default();
            let mut fields = fields.split_whitespace();
            fields.next() != Some("Z") && fields.nth(1) == Some(group)
        })
        .collect()
}
