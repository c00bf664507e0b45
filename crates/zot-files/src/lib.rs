//! Access to files that other processes share or control: atomic replacement, locks, opening
//! that accepts regular files only, and removal.
//!
//! Knows nothing about the content of the files.

mod directory;
mod durability;
mod kind;
mod lock;
mod read;
mod remove;
mod replace;
mod scratch;
mod socket;
mod walked;

pub use directory::Directory;
pub use durability::Durability;
pub use kind::NotRegular;
pub use lock::{Lock, LockError, lock_file};
pub use read::{
    ReadError, check_regular, open_as, open_existing, open_itself, open_regular, read_bytes,
    read_existing, read_existing_text, read_limited, read_to_limit,
};
pub use remove::remove_tree;
pub use replace::{create_private_directory, replace, replace_with};
pub use scratch::{Scratch, ScratchDirectory, sweep_scratch};
pub use socket::{SocketError, SocketFile, SocketPath};
pub use walked::{FileIdentity, Replacement, WalkError, WalkedFile, open_walked};
