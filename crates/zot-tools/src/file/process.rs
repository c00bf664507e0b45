//! The files in which the kernel shows the secrets of processes.

use std::fs::File;

/// Returns whether `file` is the environment or the memory of a process: this one, whose environment has
/// the keys of model providers, or another one of the user, which may have them, too. Commands do not get
/// these keys either.
#[cfg(target_os = "linux")]
pub(super) fn is_secret(file: &File) -> bool {
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};

    let is_of_kernel = fstatfs(file).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC);
    if !is_of_kernel {
        return false;
    }
    // The name by which it was opened may have been a link.
    let link = Path::new("/proc/self/fd").join(file.as_raw_fd().to_string());
    match link.read_link() {
        Ok(path) => path
            .file_name()
            .is_some_and(|name| name == "environ" || name == "mem"),
        Err(_) => true,
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_secret(_: &File) -> bool {
    false
}
