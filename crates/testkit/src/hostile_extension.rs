//! An extension with one way to misbehave per name.
//!
//! Every one of them but [`floods`](flood)' and the silent ones' is polite until its tool `bad` is
//! called, so that a test decides when it starts. `good` is the well-behaved neighbour.

mod answers;
mod flood;
mod frames;
mod life;
mod peer;

use peer::Peer;

/// Behaves as `behaviour` names it until zot ends this process, or the behaviour does.
pub fn run(behaviour: &str) {
    let peer = Peer::default();
    let known = flood::run(behaviour, &peer)
        || answers::run(behaviour, &peer)
        || frames::run(behaviour, &peer)
        || life::run(behaviour, &peer);
    assert!(known, "no behaviour {behaviour:?}");
}
