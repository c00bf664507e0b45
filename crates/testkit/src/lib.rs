//! Test support: a scripted model server, scripted extensions, the `zot` binary over real pipes, recorded
//! sessions of the original with the comparison that replays them, and throw-away databases and message
//! servers.
//!
//! Nothing here depends on zot's internals: it talks to zot through sockets and pipes only.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "test support reports problems by failing the test"
)]

mod extension;
mod guarded;
pub mod hostile_extension;
mod http_script;
pub mod nats;
pub mod network;
pub mod postgres;
pub mod process;
mod recording;
mod server;
mod skipping;
mod terminal;
mod workdir;
mod zot;

pub use extension::{InstalledExtension, ScriptedExtension, echo_tool, register_tool, tool_text};
pub use http_script::{HttpReply, HttpRequest, HttpScript};
pub use recording::{Fixtures, Pace, Transcript};
pub use server::{ModelServer, RecordedRequest, Reply, Wire, refusal};
pub use skipping::{KernelFeature, skip, skip_without};
pub use terminal::{AtTerminal, assert_harmless, run_at_terminal};
pub use workdir::{IMAGE, IMAGE_BASE64, Workdir};
pub use zot::{Finished, PATIENCE, Signal, Zot, ZotCommand, poll_until};
