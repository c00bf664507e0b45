//! The results of testing an extension.

pub use zot_extension_check::{
    CommandAction, ExtensionFrame, ExtensionOutput, Finding, HostFrame, Introduction,
    IntroductionError, LaunchError, PanelContent, RawJson, RegisteredCommand, RegisteredTool,
    ShutdownReport, Stage, Verdict,
};
