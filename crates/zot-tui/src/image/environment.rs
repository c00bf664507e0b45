//! Finds out from the environment how the terminal receives images.

use super::{Protocol, kitty};

/// The format in which tmux reports on itself and its terminal, for [`protocol_in_tmux`].
pub(crate) const TMUX_FORMAT: &str = "#{allow-passthrough}\t#{client_termname}\t#{client_termtype}";

/// What the environment reveals about images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageEnvironment {
    /// A terminal whose protocol is known.
    Known(Protocol),
    /// A terminal that has to be asked for sixels.
    Terminal,
    /// tmux, which may draw sixels itself or pass images to kitty.
    Tmux,
    /// A multiplexer that lets no image through.
    Blocked,
}

impl ImageEnvironment {
    /// Reads the environment.
    pub(crate) fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        if set("TMUX").is_some() {
            return Self::Tmux;
        }
        if set("STY").is_some() {
            return Self::Blocked;
        }
        // This may be a multiplexer on another machine, which the other variables do not describe.
        if term.starts_with("screen") || term.starts_with("tmux") {
            return Self::Terminal;
        }
        let program = set("TERM_PROGRAM").or_else(|| set("LC_TERMINAL"));
        match program.as_deref() {
            Some("iTerm.app" | "iTerm2" | "WezTerm") => return Self::Known(Protocol::Iterm),
            Some("ghostty") => return Self::Known(Protocol::Kitty),
            _ => {}
        }
        if set("KITTY_WINDOW_ID").is_some() || is_kitty(&term) {
            return Self::Known(Protocol::Kitty);
        }
        Self::Terminal
    }

    /// Returns the sequence that removes images from the screen, if they do not scroll with the text.
    pub(crate) fn wipe(self) -> &'static str {
        match self {
            Self::Known(Protocol::Kitty) => kitty::WIPE,
            _ => "",
        }
    }
}

/// Returns how images pass through tmux, which reports in [`TMUX_FORMAT`].
pub(crate) fn protocol_in_tmux(report: &str) -> Option<Protocol> {
    let mut fields = report.trim_end_matches('\n').split('\t');
    let is_passthrough_allowed = matches!(fields.next(), Some("on" | "all" | "1" | "2"));
    // The terminal's terminfo entry, or what it reports about itself.
    let reaches_kitty = fields.any(is_kitty);
    (is_passthrough_allowed && reaches_kitty).then_some(Protocol::Placeholders)
}

fn is_kitty(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("kitty") || name.contains("ghostty")
}
