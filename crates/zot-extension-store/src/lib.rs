//! The extensions of a user: installs, removes, enables and disables them (`zot ext install` …).
//!
//! An extension is put together in a hidden directory beside the others and moved into place in one
//! step: no reader ever sees half of one, and a failure leaves nothing behind. Nothing is started here.

mod copy;
mod directory;
mod enabled;
mod git;
mod origin;
mod staged;
mod store;

pub use git::GitError;
pub use origin::{Origin, OriginError};
pub use staged::{IfTaken, Staged};
pub use store::{Store, StoreError, Switch, Switched};
