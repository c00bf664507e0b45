//! The secret in the URL of the page.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq as _;
use zot_files::read_limited;

/// 256 bits, which cannot be guessed.
const TOKEN_BYTES: usize = 32;

/// The longest token file.
///
/// Limit: the token file is refused.
const MAX_TOKEN_FILE_BYTES: u64 = 4 * 1024;

/// The secret that a request must contain. Hexadecimal, so that it needs no escaping in a URL.
#[derive(Clone)]
pub struct Token(String);

/// Why a token cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot read random numbers: {0}")]
    Random(#[source] io::Error),
    #[error("cannot use the token file {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("others can read the token file {}: run `chmod 600` on it", .0.display())]
    Readable(PathBuf),
    #[error("{} does not contain a token: delete it to create a new one", .0.display())]
    Malformed(PathBuf),
}

impl Token {
    pub fn random() -> Result<Self, TokenError> {
        Ok(Self(random_hex(TOKEN_BYTES).map_err(TokenError::Random)?))
    }

    /// Reads the token from a file, or creates the file, so that the URL stays the same.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        let failed = |source| TokenError::File {
            path: path.to_owned(),
            source,
        };
        match fs::metadata(path) {
            Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
                Err(TokenError::Readable(path.to_owned()))
            }
            Ok(_) => {
                let text = read_limited(path, MAX_TOKEN_FILE_BYTES).map_err(failed)?;
                let text = text.unwrap_or_default();
                let token = text.trim();
                let whole = token.len() == TOKEN_BYTES * 2
                    && token.bytes().all(|byte| byte.is_ascii_hexdigit());
                if whole {
                    Ok(Self(token.to_owned()))
                } else {
                    Err(TokenError::Malformed(path.to_owned()))
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = Self::random()?;
                let mut file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(path)
                    .map_err(failed)?;
                writeln!(file, "{}", token.0).map_err(failed)?;
                Ok(token)
            }
            Err(error) => Err(failed(error)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub fn matches(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }
}

/// Returns random bytes in hexadecimal. The file exists on every Unix.
pub(super) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}
