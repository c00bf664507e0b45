//! Finds the loader of a dynamically linked program.

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// More program headers than linkers write.
///
/// Limit: needed files are followed no further: a confined program may fail to start.
const MAX_ELF_HEADERS: u64 = 512;

/// The longest path the kernel accepts.
const MAX_PATH_BYTES: u64 = 4096;

/// The type of the header that names the loader.
const PT_INTERP: u64 = 3;

/// Returns the path in the `PT_INTERP` header; `None` for static programs and other files.
pub(super) fn loader(file: impl Read + Seek) -> Option<PathBuf> {
    let mut elf = Elf::new(file)?;
    let (table, entry_size, count) = if elf.is_64_bit {
        (elf.number(32, 8)?, elf.number(54, 2)?, elf.number(56, 2)?)
    } else {
        (elf.number(28, 4)?, elf.number(42, 2)?, elf.number(44, 2)?)
    };
    for index in 0..count.min(MAX_ELF_HEADERS) {
        let header = table.checked_add(index * entry_size)?;
        if elf.number(header, 4)? != PT_INTERP {
            continue;
        }
        let (offset, length) = if elf.is_64_bit {
            (elf.number(header + 8, 8)?, elf.number(header + 32, 8)?)
        } else {
            (elf.number(header + 4, 4)?, elf.number(header + 16, 4)?)
        };
        if length > MAX_PATH_BYTES {
            return None;
        }
        let mut path = vec![0; usize::try_from(length).ok()?];
        elf.read(offset, &mut path)?;
        path.truncate(memchr::memchr(0, &path)?);
        return Some(PathBuf::from(OsString::from_vec(path)));
    }
    None
}

struct Elf<F> {
    file: F,
    is_64_bit: bool,
    is_little_endian: bool,
}

impl<F: Read + Seek> Elf<F> {
    fn new(file: F) -> Option<Self> {
        let mut elf = Self {
            file,
            is_64_bit: false,
            is_little_endian: false,
        };
        let mut identity = [0; 6];
        elf.read(0, &mut identity)?;
        let [0x7f, b'E', b'L', b'F', class, order] = identity else {
            return None;
        };
        elf.is_64_bit = class == 2;
        elf.is_little_endian = order == 1;
        Some(elf)
    }

    /// Reads an unsigned number of up to eight bytes.
    fn number(&mut self, offset: u64, size: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let used = bytes.get_mut(..size)?;
        self.read(offset, used)?;
        if !self.is_little_endian {
            used.reverse();
        }
        Some(u64::from_le_bytes(bytes))
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Option<()> {
        self.file.seek(SeekFrom::Start(offset)).ok()?;
        self.file.read_exact(bytes).ok()
    }
}
