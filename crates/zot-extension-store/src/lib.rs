//! Installs, removes, enables and disables the extensions of a user (`zot ext install` …).
//!
//! An extension is staged in a hidden directory next to the others and moved into place in one step:
//! no reader ever sees half of one, and a failure leaves nothing behind. Nothing is started here.

mod copy;
mod directory;
mod enabled;
mod git;
mod origin;
mod staged;
mod store;

pub use git::GitError;
pub use origin::{Origin, OriginError};
pub use staged::{OnConflict, Staged};
pub use store::{Store, StoreError, Switch, Switched};
