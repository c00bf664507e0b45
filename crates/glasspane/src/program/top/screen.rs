//! Takes over the terminal, draws on it, and restores it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, ttyname};
use tokio::io::unix::AsyncFd;

use super::table::Size;

/// Alternate screen, no cursor, no wrapping.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &[u8] = b"\x1b[?7h\x1b[?25h\x1b[?1049l";

const DEFAULT_SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// The terminal of standard output, opened separately, so that non-blocking mode does not affect other
/// programs. Restored when dropped.
pub(super) struct Screen {
    terminal: AsyncFd<File>,
    before: Termios,
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        let name = ttyname(io::stdout(), Vec::new())?;
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
            .open(path)?;
        let before = tcgetattr(&file)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&file, OptionalActions::Now, &raw)?;
        #[expect(
            deprecated,
            reason = "the successor is unsafe because a descriptor might be closed early; the file \
                      is owned by what is made here"
        )]
        let terminal = AsyncFd::new(file)?;
        let screen = Self { terminal, before };
        screen.terminal.get_ref().write_all(ENTER)?;
        Ok(screen)
    }

    pub(super) fn size(&self) -> Size {
        match tcgetwinsize(self.terminal.get_ref()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
                columns: usize::from(size.ws_col),
                rows: usize::from(size.ws_row),
            },
            _ => DEFAULT_SIZE,
        }
    }

    /// Waits for keys. Cancel-safe.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.terminal.readable().await?;
            match ready.try_io(|terminal| terminal.get_ref().read(buffer)) {
                Ok(Ok(0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => return read,
                Err(_) => {}
            }
        }
    }

    /// Draws over the previous content, line by line: clearing it first would flicker.
    pub(super) async fn draw(&self, lines: &[String]) -> io::Result<()> {
        let mut frame = Vec::from(b"\x1b[H");
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                frame.extend_from_slice(b"\r\n");
            }
            frame.extend_from_slice(line.as_bytes());
            frame.extend_from_slice(b"\x1b[0m\x1b[K");
        }
        frame.extend_from_slice(b"\x1b[J");
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            let mut ready = self.terminal.writable().await?;
            match ready.try_io(|terminal| terminal.get_ref().write(rest)) {
                Ok(Ok(count)) => rest = &rest[count..],
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let terminal = self.terminal.get_ref();
        let mut writer = terminal;
        let _ = writer.write_all(LEAVE);
        let _ = tcsetattr(terminal, OptionalActions::Now, &self.before);
    }
}
