//! Secrets in environment variables.
#![expect(
    unsafe_code,
    reason = "the memory in which the kernel put the environment has no safe owner"
)]

use std::ffi::OsString;

/// Removes a variable from the environment, so that neither children nor `/proc/PID/environ` show it.
///
/// Call it while the program has a single thread: access to the environment is not synchronised.
pub fn take_secret(name: &str) -> Option<OsString> {
    let value = std::env::var_os(name)?;
    #[cfg(target_os = "linux")]
    erase(name);
    // SAFETY: the caller has a single thread, so nothing else accesses the environment.
    unsafe {
        std::env::remove_var(name);
    }
    Some(value)
}

/// Overwrites the values of `name` in the memory that `/proc` shows as the environment.
#[cfg(target_os = "linux")]
fn erase(name: &str) {
    unsafe extern "C" {
        static environ: *const *mut libc::c_char;
    }
    // SAFETY: `environ` is null or a list of strings that ends with a null. The strings lie in
    // memory of this process that may be written to: the block made by the kernel, or copies by the
    // C library. With a single thread nothing else uses them; the length does not change.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = *entry;
            let length = libc::strlen(text);
            let bytes = std::slice::from_raw_parts_mut(text.cast::<u8>(), length);
            if let Some((key, value)) = bytes.split_at_mut_checked(name.len() + 1)
                && key.strip_suffix(b"=") == Some(name.as_bytes())
            {
                for byte in value {
                    // Volatile, because nothing in this program reads it again.
                    std::ptr::write_volatile(byte, 0);
                }
            }
            entry = entry.add(1);
        }
    }
}
