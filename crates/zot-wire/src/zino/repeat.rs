//! What may be sent again when it is unknown whether it was handled: one table for all services.

#[cfg(test)]
mod tests;

/// Whether a request may be sent again, to the same service or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Handling it twice changes nothing more than handling it once.
    Always,
    /// When the first was given up: two at a time would end each other.
    OneAtATime,
    /// If it has a name, under which it is stored once.
    Named,
    /// As long as no frame of the response was used.
    BeforeFirstFrame,
    /// Not as it is: the caller asks for the outcome, which the claim on the call decides.
    Claimed,
    Never,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub service: &'static str,
    pub request: &'static str,
    pub repeat: Repeat,
    pub reason: &'static str,
}

const fn rule(
    service: &'static str,
    request: &'static str,
    repeat: Repeat,
    reason: &'static str,
) -> Rule {
    Rule {
        service,
        request,
        repeat,
        reason,
    }
}

const READS: &str = "it reads";
const OVERWRITES: &str = "again, it would undo what others did in between";
const ONCE_BY_NAME: &str = "the name is stored with it";
const RUNS_PROGRAMS: &str = "it may have run programs";

/// All requests. One that is missing counts as [`Repeat::Never`].
#[rustfmt::skip]
pub const RULES: [Rule; 30] = [
    rule("any", "ping", Repeat::Always, READS),
    rule("any", "version", Repeat::Always, READS),
    rule("daemon", "request", Repeat::Never, RUNS_PROGRAMS),
    rule("daemon", "stream", Repeat::Never, RUNS_PROGRAMS),
    rule("rtr", "infer", Repeat::BeforeFirstFrame, "another response would not continue the first"),
    rule("rtr", "capabilities", Repeat::Always, READS),
    rule("agr", "run", Repeat::Never, RUNS_PROGRAMS),
    rule("sys", "get", Repeat::Always, READS),
    rule("sys", "reload", Repeat::Always, READS),
    rule("sys", "set_soft_memory", Repeat::Never, OVERWRITES),
    rule("ctx", "build", Repeat::Always, READS),
    rule("exc", "execute", Repeat::Claimed, "it runs a program"),
    rule("exc", "outcome", Repeat::Always, "the claim says whether the code has run"),
    rule("exc", "validate", Repeat::Always, READS),
    rule("exc", "capabilities", Repeat::Always, READS),
    rule("mem", "get_history", Repeat::Always, READS),
    rule("mem", "append_history", Repeat::Named, ONCE_BY_NAME),
    rule("mem", "hold_channel", Repeat::OneAtATime, "the owner has one hold, and the last of its requests keeps it"),
    rule("mem", "clear_history", Repeat::Never, OVERWRITES),
    rule("mem", "list_channels", Repeat::Always, READS),
    rule("mem", "search_hard", Repeat::Always, READS),
    rule("mem", "store_hard", Repeat::Named, ONCE_BY_NAME),
    rule("mem", "delete_hard", Repeat::Never, OVERWRITES),
    rule("mem", "get_soft", Repeat::Always, READS),
    rule("mem", "set_soft", Repeat::Never, OVERWRITES),
    rule("mem", "export", Repeat::BeforeFirstFrame, "the store may have changed in between"),
    rule("mem", "import", Repeat::Never, "items have no names"),
    rule("mem", "claim", Repeat::Always, "the owner has one claim, however often it asks"),
    rule("mem", "renew_claim", Repeat::Always, "the lease is extended to the same time"),
    rule("mem", "finish_claim", Repeat::Always, "the claim keeps its first result"),
];

impl Repeat {
    /// The rule for a request.
    pub fn of(service: &str, request: &str) -> Self {
        let found = RULES
            .iter()
            .find(|rule| rule.service == service && rule.request == request);
        found.map_or(Self::Never, |rule| rule.repeat)
    }
}
