//! Misbehaving extensions, selected by name.
//!
//! Those with wrong responses behave until their tool `bad` is called, so that a test decides when they
//! start; floods and odd lifecycles start immediately. `good` behaves well.

mod answers;
mod flood;
mod frames;
mod life;
mod peer;

use peer::Peer;

/// Runs the named behaviour until it ends or zot ends this process.
pub fn run(behaviour: &str) {
    let peer = Peer::default();
    let known = flood::run(behaviour, &peer)
        || answers::run(behaviour, &peer)
        || frames::run(behaviour, &peer)
        || life::run(behaviour, &peer);
    assert!(known, "unknown behaviour {behaviour:?}");
}
