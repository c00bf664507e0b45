//! What an extension does when it is tried out.

pub use zot_extension_check::{
    CommandAction, ExtensionFrame, Farewell, Finding, Heard, HostFrame, Introduction,
    IntroductionError, LaunchError, PanelContent, RawJson, RegisteredCommand, RegisteredTool,
    Stage, Verdict,
};
