//! What a starting extension still has to register, and whether the agent may run without it.

use zot_extension_contract::{FailurePolicy, Source};

use super::{Extension, Phase, State};
use crate::notices::Notice;

/// What an extension that has sent `hello` but not `ready` may still have to register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Nothing: silence means that it has registered everything.
    Nothing,
    /// It listed no capabilities, or has registered nothing yet: it may still ask to intercept.
    Anything,
    /// Its capabilities include events, but it has not subscribed yet.
    Subscription,
    /// It does not count as ready without intercepting: it intercepted before, or is required.
    Interception,
}

/// Capabilities of extensions that intercept nothing.
const HARMLESS: [&str; 3] = ["commands", "tools", "panels"];

impl Extension {
    pub(crate) fn missing(&self) -> Missing {
        let state = self.lock();
        let arriving = state.arriving.as_ref();
        let intercepts = arriving.is_some_and(|arriving| !arriving.intercepts.is_empty());
        let has_subscribed = arriving.is_some_and(|arriving| arriving.has_subscribed);
        if intercepts {
            return Missing::Nothing;
        }
        if self.must_run(&state) {
            return Missing::Interception;
        }
        if has_subscribed {
            return Missing::Nothing;
        }
        let mut capabilities = state.capabilities.iter();
        if !capabilities.all(|capability| HARMLESS.contains(&capability.as_str())) {
            return Missing::Subscription;
        }
        // An extension that has started to register its capabilities does not pause for long.
        let has_registered = arriving
            .is_some_and(|arriving| !arriving.commands.is_empty() || !arriving.tools.is_empty());
        match !state.capabilities.is_empty() && has_registered {
            true => Missing::Nothing,
            false => Missing::Anything,
        }
    }

    /// Returns whether it is unknown if it intercepts, or it does and is restarting: no tool may run
    /// meanwhile.
    pub(crate) fn is_undecided(&self) -> bool {
        let state = self.lock();
        match state.phase {
            Phase::Starting => true,
            // Crashes happen; an extension that fails open is waited for only once.
            Phase::Restarting { .. } => {
                !state.was_ready
                    || self.found.manifest.required
                    || self.found.manifest.on_failure == FailurePolicy::Block
                    || (state.is_interceptor && state.restarts <= 1)
            }
            Phase::Ready | Phase::Failed { .. } | Phase::Stopped => false,
        }
    }

    /// Notes that it has crashed and is about to be restarted for the given time.
    pub(crate) fn restart(&self, reason: String, restarts: usize) {
        self.lock().restarts = restarts;
        self.set_phase(Phase::Restarting { reason });
    }

    /// Returns whether it is still unknown if it intercepts.
    pub(crate) fn has_never_been_ready(&self) -> bool {
        !self.lock().was_ready
    }

    /// Returns why no prompt may run, if this extension has failed and is indispensable.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let state = self.lock();
        let Phase::Failed { reason } = &state.phase else {
            return None;
        };
        let cause = match self.found.manifest.required {
            true => Cause::Required,
            // If it started in this run and failed later, `on_failure` decides.
            false if state.is_interceptor && !state.was_ready => Cause::Intercepted,
            false => return None,
        };
        let name = self.name();
        let remedy = remedy(name, self.found.source, &self.found.directory);
        Some(format!(
            "extension {name} is not running: {reason}. {cause}, so no prompt runs without it: fix it (zot \
             ext logs {name}), {remedy}",
            cause = cause.describe(),
        ))
    }

    fn must_run(&self, state: &State) -> bool {
        self.found.manifest.required || state.is_interceptor
    }

    /// Returns whether it intercepts, in this run or the last.
    pub(crate) fn is_interceptor(&self) -> bool {
        self.lock().is_interceptor
    }

    /// Records that it intercepts, at once: the next thing it does may be to crash.
    pub(super) fn note_interception(&self) {
        if std::mem::replace(&mut self.lock().is_interceptor, true) {
            return;
        }
        let record = &self.context.interceptors;
        if let Err(error) = record.remember(self.name(), &self.found.directory) {
            let message = format!(
                "cannot record that it intercepts ({error}): if it fails to start the next time, \
                 prompts run without it"
            );
            self.log_once(&message);
            self.notify(Notice::Problem(format!(
                "extension {}: {message}",
                self.name()
            )));
        }
    }

    /// Removes the record that it intercepts: it is ready and does not.
    pub(super) fn forget_interception(&self) {
        let was_interceptor = std::mem::take(&mut self.lock().is_interceptor);
        if was_interceptor
            && let Err(error) = self.context.interceptors.forget(&self.found.directory)
        {
            self.log(&format!(
                "cannot record that it no longer intercepts: {error}"
            ));
        }
    }
}

/// Why an extension is indispensable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Required,
    Intercepted,
}

impl Cause {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Required => "Its manifest says it is required",
            Self::Intercepted => "It intercepts what the agent does (it did when it last ran)",
        }
    }
}

/// Returns how to run without an extension.
pub(crate) fn remedy(name: &str, source: Source, directory: &std::path::Path) -> String {
    let directory = directory.display();
    match source {
        Source::Global => format!(
            "disable it (zot ext disable {name}), or run with --no-ext; /reload-ext and reload_ext try again"
        ),
        Source::Project => format!(
            "set \"enabled\": false in {directory}/extension.json, or run with --no-ext (zot ext disable {name} is \
             for installed ones); /reload-ext and reload_ext try again"
        ),
        Source::CommandLine => format!(
            "set \"enabled\": false in {directory}/extension.json, or leave out --ext {directory} (zot ext disable {name} \
             and --no-ext are for those that are found); /reload-ext and reload_ext try again"
        ),
    }
}
