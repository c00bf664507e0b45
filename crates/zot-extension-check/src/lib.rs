//! Runs one extension by itself, against a simulated host: to learn what it registers, to examine it
//! for its author (`zot ext test`), or to try it by hand (`zot ext dev`).
//!
//! A [`Trial`] is the extension's process and its pipes; [`Trial::introduce`] does the handshake;
//! [`examine`] checks everything an extension has to get right.

mod arguments;
mod checks;
mod examination;
mod finding;
mod trial;

pub use arguments::arguments_for;
pub use examination::{ExaminationOptions, examine};
pub use finding::{Finding, Verdict};
pub use trial::{
    ExtensionOutput, Introduction, IntroductionError, RegisteredCommand, RegisteredTool, SendError,
    ShutdownReport, Stage, Trial, inspect,
};
pub use zot_extension_contract::LaunchError;
pub use zot_wire::RawJson;
pub use zot_wire::extension::{CommandAction, ExtensionFrame, HostFrame, PanelContent};
