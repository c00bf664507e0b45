//! Extensions as they are installed, removed, enabled and disabled.

pub use zot_extension_store::{
    GitError, OnConflict, Origin, OriginError, Staged, Store, StoreError, Switch, Switched,
};
