//! What an extension that is starting still owes, and what becomes of the agent without it.

use zot_extension_contract::{FailurePolicy, Source};

use super::{Extension, Phase, State};
use crate::notices::Notice;

/// What an extension that has said hello, but not ready, has still to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owes {
    /// Silence means that it has registered everything.
    Nothing,
    /// It does not say what it brings, or has not begun to: it may still ask to intercept.
    Anything,
    /// It brings events, and has not said which.
    Subscription,
    /// It must not be taken as ready without it: it intercepted before, or is required.
    Interception,
}

/// Capabilities of extensions that intercept nothing.
const HARMLESS: [&str; 3] = ["commands", "tools", "panels"];

impl Extension {
    pub(crate) fn owes(&self) -> Owes {
        let state = self.lock();
        let arriving = state.arriving.as_ref();
        let intercepts = arriving.is_some_and(|arriving| !arriving.intercepts.is_empty());
        let has_subscribed = arriving.is_some_and(|arriving| arriving.has_subscribed);
        if intercepts {
            return Owes::Nothing;
        }
        if self.must_run(&state) {
            return Owes::Interception;
        }
        if has_subscribed {
            return Owes::Nothing;
        }
        let mut capabilities = state.capabilities.iter();
        if !capabilities.all(|capability| HARMLESS.contains(&capability.as_str())) {
            return Owes::Subscription;
        }
        // One that has begun to register what it says it brings does not stop for long before its end.
        let has_registered = arriving
            .is_some_and(|arriving| !arriving.commands.is_empty() || !arriving.tools.is_empty());
        match !state.capabilities.is_empty() && has_registered {
            true => Owes::Nothing,
            false => Owes::Anything,
        }
    }

    /// Whether it is not known yet if it intercepts, or it does and is being started again: no tool
    /// may run meanwhile.
    pub(crate) fn is_undecided(&self) -> bool {
        let state = self.lock();
        match state.phase {
            Phase::Starting => true,
            // A crash may happen; one that lets things pass when it fails is not waited for twice.
            Phase::Restarting { .. } => {
                !state.was_ready
                    || self.found.manifest.required
                    || self.found.manifest.on_failure == FailurePolicy::Block
                    || (state.is_interceptor && state.restarts <= 1)
            }
            Phase::Ready | Phase::Failed { .. } | Phase::Stopped => false,
        }
    }

    /// It has crashed and is to be started again, for the time that is given.
    pub(crate) fn restart(&self, reason: String, restarts: usize) {
        self.lock().restarts = restarts;
        self.set_phase(Phase::Restarting { reason });
    }

    /// Whether it is not known yet if it intercepts.
    pub(crate) fn has_never_been_ready(&self) -> bool {
        !self.lock().was_ready
    }

    /// Why no prompt may run, when this extension has failed and must not be done without.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let state = self.lock();
        let Phase::Failed { reason } = &state.phase else {
            return None;
        };
        let cause = match self.found.manifest.required {
            true => Cause::Required,
            // One that has started in this run and failed later counts as `on_failure` says.
            false if state.is_interceptor && !state.was_ready => Cause::Intercepted,
            false => return None,
        };
        let name = self.name();
        let remedy = remedy(name, self.found.source, &self.found.directory);
        Some(format!(
            "extension {name} is not running: {reason}. {cause}, so no prompt runs without it: fix it (zot \
             ext logs {name}), {remedy}",
            cause = cause.in_words(),
        ))
    }

    fn must_run(&self, state: &State) -> bool {
        self.found.manifest.required || state.is_interceptor
    }

    /// Whether it has said that it intercepts, in this run or the last.
    pub(crate) fn is_interceptor(&self) -> bool {
        self.lock().is_interceptor
    }

    /// It says that it intercepts. Written down at once: the next thing it does may be to crash.
    pub(super) fn note_interception(&self) {
        if std::mem::replace(&mut self.lock().is_interceptor, true) {
            return;
        }
        let record = &self.surroundings.interceptors;
        if let Err(error) = record.remember(self.name(), &self.found.directory) {
            let told = format!(
                "it cannot be remembered that it intercepts ({error}): if it fails to start the next time, \
                 prompts run without it"
            );
            self.log_once(&told);
            self.notify(Notice::Problem(format!(
                "extension {}: {told}",
                self.name()
            )));
        }
    }

    /// It is ready and intercepts nothing.
    pub(super) fn forget_interception(&self) {
        let was_interceptor = std::mem::take(&mut self.lock().is_interceptor);
        if was_interceptor
            && let Err(error) = self.surroundings.interceptors.forget(&self.found.directory)
        {
            self.log(&format!(
                "it cannot be written down that it does not intercept any more: {error}"
            ));
        }
    }
}

/// Why an extension must not be done without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Required,
    Intercepted,
}

impl Cause {
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Required => "Its manifest says it is required",
            Self::Intercepted => "It intercepts what the agent does (it did when it last ran)",
        }
    }
}

/// How to do without an extension.
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
