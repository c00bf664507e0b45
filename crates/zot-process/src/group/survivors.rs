//! Checks whether a process group still has living members.

use rustix::process::{Pid, test_kill_process_group};

/// Returns whether any process in `group` is alive. Its leader must have been reaped.
///
/// The system call also counts dead members that are not reaped yet. On Linux `/proc` distinguishes
/// them, elsewhere they count as alive.
pub(crate) fn any_alive(group: Pid) -> bool {
    if test_kill_process_group(group) == Err(rustix::io::Errno::SRCH) {
        return false;
    }
    if cfg!(target_os = "linux") {
        listed_alive(group).unwrap_or(true)
    } else {
        true
    }
}

/// Searches `/proc`; `None` if it cannot be read.
fn listed_alive(group: Pid) -> Option<bool> {
    let group = group.as_raw_nonzero().to_string();
    for entry in std::fs::read_dir("/proc").ok()? {
        let entry = entry.ok()?;
        let is_process = entry
            .file_name()
            .as_encoded_bytes()
            .first()
            .is_some_and(u8::is_ascii_digit);
        if !is_process {
            continue;
        }
        // A process may be gone by the time its file is read.
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else {
            continue;
        };
        if is_living_member(&stat, &group) {
            return Some(true);
        }
    }
    Some(false)
}

/// Parses `pid (name) state parent group …`; the name may contain anything, including brackets.
fn is_living_member(stat: &[u8], group: &str) -> bool {
    let Some(name_end) = memchr::memrchr(b')', stat) else {
        return false;
    };
    let mut fields = stat[name_end + 1..]
        .split(|&byte| byte == b' ')
        .filter(|field| !field.is_empty());
    let is_dead = matches!(fields.next(), None | Some(b"Z" | b"X" | b"x"));
    !is_dead && fields.nth(1) == Some(group.as_bytes())
}
