//! All that is stored, with the bytes of every element, for moving it to a database and back.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use tokio::sync::mpsc::{Receiver, Sender};
use zot_files::read_bytes;

use super::array::Shape;
use super::directory::Directory;
use super::file::{self, Access, Locked, with_canonical_lines};
use super::{FileStore, MAX_STORED_BYTES};
use crate::memory::element::{CLOSING, OPENING, SEPARATOR};
use crate::memory::error::StoreError;

/// How many elements are moved together.
///
/// Limit: the next elements are moved in another batch.
const RAW_BATCH: usize = 100;

/// How many bytes of elements are moved together, unless one is longer.
///
/// Limit: the next elements are moved in another batch.
const RAW_BATCH_BYTES: usize = 4 << 20;

/// A part of what is stored. A history or the memories begin with their name, and the elements follow.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::memory) enum RawPart {
    /// The list of the files' channels. It comes first.
    Names(Vec<u8>),
    Channel(String),
    Memories,
    Elements(Vec<Vec<u8>>),
    Soft(Vec<u8>),
}

/// The receiver has ended; it knows why.
const RECEIVER_ENDED: StoreError = StoreError::Stopped;

impl FileStore {
    /// Reads everything without changing it. Blocks.
    pub(in crate::memory) fn read_raw(&self, parts: &Sender<RawPart>) -> Result<(), StoreError> {
        let send = |part| parts.blocking_send(part).map_err(|_| RECEIVER_ENDED);
        if let Some(names) = self.channels.name_list()? {
            send(RawPart::Names(names))?;
        }
        for (channel, path) in self.channels.files_of_channels()? {
            read_array(&path, RawPart::Channel(channel), parts)?;
        }
        read_array(self.hard.path(), RawPart::Memories, parts)?;
        let soft = self.soft.path();
        match read_bytes(soft, MAX_STORED_BYTES).map_err(StoreError::io(soft))? {
            Some(content) => send(RawPart::Soft(content)),
            None => Ok(()),
        }
    }

    /// Writes everything into an empty directory. Blocks.
    pub(in crate::memory) fn write_raw(
        &self,
        mut parts: Receiver<RawPart>,
    ) -> Result<(), StoreError> {
        let mut next = parts.blocking_recv();
        while let Some(part) = next {
            next = match part {
                RawPart::Names(names) => {
                    self.channels.restore_name_list(&names)?;
                    parts.blocking_recv()
                }
                RawPart::Channel(channel) => {
                    let path = self.channels.path_of(&channel)?;
                    write_array(&path, self.channels.directory(), &mut parts)?
                }
                RawPart::Memories => {
                    write_array(self.hard.path(), self.hard.directory(), &mut parts)?
                }
                RawPart::Soft(content) => {
                    self.soft.set_bytes(&content)?;
                    parts.blocking_recv()
                }
                // Elements belong to what began before them.
                RawPart::Elements(_) => parts.blocking_recv(),
            };
        }
        Ok(())
    }
}

/// Sends the elements of a file, if it exists, after `beginning`.
fn read_array(path: &Path, beginning: RawPart, parts: &Sender<RawPart>) -> Result<(), StoreError> {
    let Some(locked) = file::lock(path, Access::Read)? else {
        return Ok(());
    };
    match locked.inspect(None, &mut |_, _| {})?.shape {
        Shape::Canonical | Shape::Whole => {}
        Shape::Torn => return Err(StoreError::Torn(path.to_owned())),
        Shape::NotAnArray => return Err(StoreError::NotAnArray(path.to_owned())),
    }
    parts.blocking_send(beginning).map_err(|_| RECEIVER_ENDED)?;
    send_elements(&locked, parts)
}

fn send_elements(locked: &Locked, parts: &Sender<RawPart>) -> Result<(), StoreError> {
    let mut batch = Vec::new();
    let mut length = 0;
    let keep_going = || !parts.is_closed();
    locked.inspect_while(&keep_going, None, &mut |_, bytes| {
        if batch.len() >= RAW_BATCH || (length + bytes.len() > RAW_BATCH_BYTES && length > 0) {
            // If nobody receives it, the reading ends at the next block.
            let _ = parts.blocking_send(RawPart::Elements(std::mem::take(&mut batch)));
            length = 0;
        }
        length += bytes.len();
        batch.push(with_canonical_lines(bytes.to_vec()));
    })?;
    match batch.is_empty() {
        true => Ok(()),
        false => {
            let sent = parts.blocking_send(RawPart::Elements(batch));
            sent.map_err(|_| RECEIVER_ENDED)
        }
    }
}

/// Writes an array of the elements that follow; returns the part after them.
fn write_array(
    path: &Path,
    directory: &Directory,
    parts: &mut Receiver<RawPart>,
) -> Result<Option<RawPart>, StoreError> {
    let _guard = directory.lock()?;
    let mut next = None;
    file::replace(path, |file| {
        next = fill(file, parts)?;
        Ok(())
    })?;
    Ok(next)
}

fn fill(file: &mut File, parts: &mut Receiver<RawPart>) -> io::Result<Option<RawPart>> {
    let mut file = BufWriter::new(file);
    let mut is_first = true;
    let mut next = parts.blocking_recv();
    while let Some(RawPart::Elements(elements)) = next {
        for element in elements {
            file.write_all(if is_first { OPENING } else { SEPARATOR })?;
            file.write_all(&element)?;
            is_first = false;
        }
        next = parts.blocking_recv();
    }
    file.write_all(if is_first { b"[]" } else { CLOSING })?;
    file.flush()?;
    Ok(next)
}

/// Whether a directory has nothing in it, or does not exist.
pub(in crate::memory) fn is_vacant(directory: &Path) -> Result<bool, StoreError> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StoreError::io(directory)(error)),
    }
}
