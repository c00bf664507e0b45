//! Framing and types of zot's protocols.
//!
//! Each protocol has its own module. The crate performs no I/O: callers read and write, the codecs here
//! only work on buffers, and each has a size limit.

pub mod arguments;
pub mod extension;
mod frame;
mod json;
mod line;
pub mod rpc;
pub mod zino;

pub use frame::{FrameDecoder, FrameTooLong, MAX_FRAME_BYTES, WriteFrameError, write_frame};
pub use json::{Fields, FieldsError, RawJson, write_line};
pub use line::{Line, LineDecoder, MAX_WIRE_LINE_BYTES};
