//! An extension with one way to misbehave per name.
//!
//! Those that answer wrongly are polite until their tool `bad` is called, so that a test decides when
//! they start; floods and strange lives begin at once. `good` is the well-behaved neighbour.

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
