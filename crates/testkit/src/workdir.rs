//! Temporary directories for one run: a working directory and a home.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A red image of 2×2 pixels: `pic.png` of [`Workdir::with_files`].
pub const IMAGE: [u8; 73] = [
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0,
    2, 0, 0, 0, 2, 8, 2, 0, 0, 0, 0xfd, 0xd4, 0x9a, 0x73, 0, 0, 0, 0x10, b'I', b'D', b'A', b'T',
    0x78, 0xda, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x44, 0x0c, 0x10, 0x0a, 0x00, 0x1f, 0xee, 0x03, 0xfd,
    0x63, 0x5e, 0xbb, 0x5b, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// [`IMAGE`] as prompts carry it.
pub const IMAGE_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mP4z8AARAwQCgAf7gP9Y167WwAAAABJRU5ErkJggg==";

/// Temporary directories, removed when dropped.
pub struct Workdir {
    root: PathBuf,
    name: String,
    _temporary: TempDir,
}

impl Workdir {
    /// Creates an empty working directory named `name`.
    pub fn new(name: &str) -> Self {
        let temporary = tempfile::Builder::new()
            .prefix("zot-test-")
            .tempdir()
            .expect("make a temporary directory");
        // Programs report resolved paths, and a system's temporary directory may be a link.
        let root = temporary
            .path()
            .canonicalize()
            .expect("resolve the temporary directory");
        let workdir = Self {
            root,
            name: name.to_owned(),
            _temporary: temporary,
        };
        for directory in [workdir.path(), workdir.home()] {
            fs::create_dir_all(directory).expect("make the working directory");
        }
        workdir
    }

    /// Creates the working directory of the recordings.
    pub fn with_files(name: &str) -> Self {
        let workdir = Self::new(name);
        workdir.write("a.txt", "one\ntwo\nthree\nfour\n");
        workdir.write("dup.txt", "x = 1\nx = 1\nend\n");
        workdir.write("crlf.txt", "\u{feff}line1\r\nline2\r\nline3\r\n");
        workdir.write("bin.dat", b"ab\0cd");
        workdir.write("pic.png", IMAGE);
        let long: String = (0..3000).map(|line| format!("line {line}\n")).collect();
        workdir.write("long.txt", long);
        workdir.write("nonl.txt", "no newline at end");
        fs::create_dir(workdir.path().join("sub")).expect("make sub");
        workdir
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the working directory.
    pub fn path(&self) -> PathBuf {
        self.parent().join(&self.name)
    }

    /// Returns the parent of [`Workdir::path`]; recordings show it as `<cwd>`.
    pub fn parent(&self) -> PathBuf {
        self.root.join("cwd")
    }

    /// Returns the parent of [`Workdir::home`]; recordings show it as `<home>`.
    pub fn homes(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn home(&self) -> PathBuf {
        self.homes().join(&self.name)
    }

    /// Returns the directory of the extensions of runs; recordings show it as `<exts>`.
    pub(crate) fn extension_directories(&self) -> PathBuf {
        self.root.join("exts")
    }

    pub fn zot_home(&self) -> PathBuf {
        self.home().join("zot")
    }

    /// Writes a file below the working directory.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("make the file's directory");
        }
        fs::write(path, content).expect("write a file of the working directory");
    }

    /// Reads a text file below the working directory, if it exists.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.path().join(path)).ok()
    }
}
