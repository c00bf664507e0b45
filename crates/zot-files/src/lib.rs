//! Files that several processes share: replaced whole or not at all, changed by one at a time.
//!
//! Knows nothing of what the files hold.

mod lock;
mod read;
mod replace;
mod socket;

pub use lock::Lock;
pub use read::{ReadError, open_regular, read_limited};
pub use replace::{create_private_folder, replace};
pub use socket::{SocketError, SocketFile, SocketPlace};
