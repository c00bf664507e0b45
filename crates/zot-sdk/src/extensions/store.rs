//! Installs, removes, enables and disables extensions.

pub use zot_extension_store::{
    GitError, OnConflict, Origin, OriginError, Staged, Store, StoreError, Switch, Switched,
};
