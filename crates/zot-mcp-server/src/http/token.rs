//! The secret that a client has to send.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq as _;

/// 256 bits, which cannot be guessed.
const TOKEN_BYTES: usize = 32;

/// The longest token file.
///
/// Limit: the token file is refused.
const MAX_CLIENT_TOKEN_FILE_BYTES: u64 = 4 * 1024;

/// The secret in the `Authorization` header of every request.
#[derive(Clone)]
pub struct Token(String);

/// Why a token cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// There is no randomness.
    #[error("cannot read random numbers: {0}")]
    Random(#[source] io::Error),
    /// The file cannot be read or created.
    #[error("cannot use the token file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not secret.
    #[error("others can read the token file {}: run `chmod 600` on it", .0.display())]
    Readable(PathBuf),
    /// The file holds something else.
    #[error("{} does not contain a token: delete it to create a new one", .0.display())]
    Malformed(PathBuf),
}

impl Token {
    /// Creates a token.
    pub fn random() -> Result<Self, TokenError> {
        Ok(Self(random_hex(TOKEN_BYTES).map_err(TokenError::Random)?))
    }

    /// Reads the token from a file, or creates the file, so that clients need not be told again.
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
                let text =
                    zot_files::read_limited(path, MAX_CLIENT_TOKEN_FILE_BYTES).map_err(failed)?;
                let text = text.unwrap_or_default();
                let token = text.trim();
                let is_whole = token.len() == TOKEN_BYTES * 2
                    && token.bytes().all(|byte| byte.is_ascii_hexdigit());
                match is_whole {
                    true => Ok(Self(token.to_owned())),
                    false => Err(TokenError::Malformed(path.to_owned())),
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

    /// Returns the secret itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub(super) fn matches(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// Returns random bytes in hexadecimal. The file exists on every Unix.
pub(crate) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
