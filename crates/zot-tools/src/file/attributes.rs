//! Copies the extended attributes of a file to the one that replaces it: access control lists, labels, and
//! those of users.

use std::ffi::CStr;
use std::fs::File;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::{Errno, Result};

/// The longest list of names, and the longest value, that is copied. Most files have none.
///
/// Limit: a file with more attributes is overwritten in place, which keeps them.
const MAX_ATTRIBUTE_BYTES: usize = 4096;

/// The only names that must be copied: without an access control list others might read the file.
const REQUIRED: [&[u8]; 2] = [b"system.posix_acl_access", b"user."];

/// Dropped, as set-user-ID is: it gives a program rights, which a new content must not inherit.
const DROPPED: &[u8] = b"security.capability";

/// Copies the attributes of `from`. Fails if one is lost that matters.
pub(super) fn copy(from: &File, to: &File) -> Result<()> {
    let mut names = [0; MAX_ATTRIBUTE_BYTES];
    let length = match flistxattr(from, &mut names) {
        Ok(length) => length,
        // Not every file system has them.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        if name.to_bytes() == DROPPED {
            continue;
        }
        let mut value = [0; MAX_ATTRIBUTE_BYTES];
        let copied = fgetxattr(from, name, &mut value)
            .and_then(|length| fsetxattr(to, name, &value[..length], XattrFlags::empty()));
        let is_required = REQUIRED
            .iter()
            .any(|beginning| name.to_bytes().starts_with(beginning));
        match copied {
            // Labels are set by the system where we may not.
            Err(error) if is_required => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
