//! Reads the beginning of an untrusted file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// What is at a path.
#[derive(Debug)]
pub(super) enum Opened {
    Regular {
        file: File,
        bytes: u64,
    },
    Directory,
    /// Reading it could block or have side effects.
    Special(&'static str),
}

/// Opens a regular file.
///
/// Checks the type first, because opening a device can have effects, and again after opening,
/// because the file may have been swapped for a FIFO, whose opening `O_NONBLOCK` keeps from hanging.
pub(super) fn open(path: &Path) -> io::Result<Opened> {
    if let Some(opened) = unless_regular(&path.metadata()?) {
        return Ok(opened);
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    Ok(unless_regular(&metadata).unwrap_or(Opened::Regular {
        file,
        bytes: metadata.len(),
    }))
}

/// Reads at most `limit` bytes from the beginning.
pub(super) fn beginning(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a regular file of at most `limit` bytes.
pub(super) fn text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = zot_files::read_to_limit(zot_files::open_existing(path)?, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn unless_regular(metadata: &Metadata) -> Option<Opened> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some(Opened::Directory),
        () if kind.is_fifo() => Some(Opened::Special("named pipe")),
        () if kind.is_socket() => Some(Opened::Special("socket")),
        () => Some(Opened::Special("device")),
    }
}
