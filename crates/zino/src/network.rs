//! Connections between machines. A connection is kept and carries one request after another: a request,
//! the frames of its response, and an empty frame that ends the response.

pub mod certificate;
pub mod failure;
pub mod identity;
pub(crate) mod options;
pub(crate) mod stream;

use std::time::Duration;

/// The frame that a service sends while it has nothing to say, so that its caller knows that it is
/// there.
pub(crate) const BEAT: &[u8] = b"\x00\x00\x00\x0f{\"type\":\"beat\"}";

/// The `type` of [`BEAT`].
pub(crate) const BEAT_TYPE: &str = "beat";

/// The frame that a service sends before it closes a connection that it is not handling a request on. A
/// caller that gets it instead of a response knows that its request was not handled.
pub(crate) const CLOSING: &[u8] = b"\x00\x00\x00\x12{\"type\":\"closing\"}";

/// The `type` of [`CLOSING`].
pub(crate) const CLOSING_TYPE: &str = "closing";

/// The empty frame at the end of a response.
pub(crate) const END: &[u8] = &[0; 4];

/// How long a service may be silent at the start of a response before it sends a beat.
pub(crate) const FIRST_BEAT_DELAY: Duration = Duration::from_millis(250);

/// How long a service may be silent later before it sends a beat.
pub(crate) const BEAT_INTERVAL: Duration = Duration::from_secs(1);
