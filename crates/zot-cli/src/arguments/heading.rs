//! The headings of `--help`, in order.

pub(super) const COMMON: &str = "Common options";
pub(super) const MODEL: &str = "Model";
pub(super) const TOOLS: &str = "Tools and permissions";
pub(super) const SANDBOX: &str = "Sandbox";
pub(super) const CONTEXT: &str = "Instructions and skills";
pub(super) const SESSIONS: &str = "Sessions";
pub(super) const STREAMS: &str = "Input and output";
pub(super) const LIMITS: &str = "Limits";
pub(super) const EXTENSIONS: &str = "Extensions";
pub(super) const MCP: &str = "MCP servers";
pub(super) const RECORDINGS: &str = "Recordings";
pub(super) const DOCTOR: &str = "Doctor";
pub(super) const OTHER: &str = "Other";
