//! What the environment says about the terminal.

use super::{Protocol, kitty};

/// What tmux is asked to say of itself and the terminal around it, for [`in_tmux`].
pub(crate) const TMUX_FORMAT: &str = "#{allow-passthrough}\t#{client_termname}\t#{client_termtype}";

/// Where the chat runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// In a terminal that says how it takes images.
    Known(Protocol),
    /// In a terminal that has to be asked for sixels.
    Terminal,
    /// tmux draws sixels itself if it can; kitty around it can be reached.
    Tmux,
    /// Nothing gets through.
    Closed,
}

impl Surroundings {
    /// What the environment says.
    pub(crate) fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        if set("TMUX").is_some() {
            return Self::Tmux;
        }
        if set("STY").is_some() {
            return Self::Closed;
        }
        // Of a multiplexer on another machine, perhaps: what else is set may be of before it.
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

    /// Takes the images off the screen, where they do not go with the text.
    pub(crate) fn wipe(self) -> &'static str {
        match self {
            Self::Known(Protocol::Kitty) => kitty::WIPE,
            _ => "",
        }
    }
}

/// How images get through tmux, from what it says in [`TMUX_FORMAT`].
pub(crate) fn in_tmux(report: &str) -> Option<Protocol> {
    let mut fields = report.trim_end_matches('\n').split('\t');
    let passes = matches!(fields.next(), Some("on" | "all" | "1" | "2"));
    // Its terminfo entry, or what it says of itself.
    let reaches_kitty = fields.any(is_kitty);
    (passes && reaches_kitty).then_some(Protocol::Placeholders)
}

fn is_kitty(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("kitty") || name.contains("ghostty")
}
