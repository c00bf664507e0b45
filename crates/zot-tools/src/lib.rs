//! The built-in tools `read`, `write`, `edit` and `bash`.
//!
//! Every path a model names goes through [`PathResolver`], every file is opened and replaced by one
//! module, and every child process belongs to a [`zot_process::ProcessGroup`]: these are the three
//! places that consult the [`ToolSandbox`]. This crate does not depend on providers or front ends.

mod arguments;
mod bash;
mod builtin;
mod checkpoint;
mod edit;
mod file;
mod limits;
mod path;
mod read;
mod sandbox;
mod utf8;
mod write;

pub use bash::BashTool;
pub use builtin::{ToolsConfig, builtin_tools};
pub use checkpoint::{ChangeNumber, Checkpoint, FileBefore};
pub use edit::EditTool;
pub use limits::{MAX_RESULT_BYTES, MAX_RESULT_LINES};
pub use path::{PathError, PathResolver, RefusedPath};
pub use read::ReadTool;
pub use sandbox::{AllowError, Allowance, Allowances, AllowedFor, CommandConfinement, ToolSandbox};
pub use write::WriteTool;

#[cfg(test)]
mod test_support;
