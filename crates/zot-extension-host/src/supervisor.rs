//! Keeps an extension running, with a limited number of restarts.

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use zot_extension_contract::LoadProblem;

use crate::extension::{Extension, Phase};
use crate::life::{LifeEnd, live};
use crate::limits::{RESTART_DELAYS, RESTART_RESET_TIME};
use crate::notices::Notice;

/// Starts the extension, and restarts it when it crashes, until it is stopped or has failed too often.
pub(crate) async fn supervise(extension: Arc<Extension>, stop: CancellationToken) {
    let mut restarts = RESTART_DELAYS.into_iter();
    let mut is_first = true;
    loop {
        let started = Instant::now();
        let reason = match live(&extension, &stop).await {
            LifeEnd::Stopped => return extension.set_phase(Phase::Stopped),
            LifeEnd::Left => return extension.set_phase(Phase::Stopped),
            // An extension that does not even start will not do so the next time either.
            LifeEnd::NeverStarted(reason) if is_first => return fail(&extension, reason),
            LifeEnd::NeverStarted(reason) | LifeEnd::Crashed(reason) => reason,
        };
        is_first = false;
        if started.elapsed() > RESTART_RESET_TIME {
            restarts = RESTART_DELAYS.into_iter();
        }
        let Some(delay) = restarts.next() else {
            let attempts = RESTART_DELAYS.len();
            return fail(
                &extension,
                format!("{reason}; given up after {attempts} restarts"),
            );
        };
        extension.log(&format!("it is started again in {}s", delay.as_secs()));
        extension.restart(reason, RESTART_DELAYS.len() - restarts.len());
        tokio::select! {
            () = sleep(delay) => {}
            () = stop.cancelled() => return extension.set_phase(Phase::Stopped),
        }
    }
}

fn fail(extension: &Extension, reason: String) {
    let found = &extension.found;
    let problem = LoadProblem::new(found.directory.clone(), found.source, reason.clone());
    extension.log(&format!("given up: {reason}"));
    extension
        .context
        .notices
        .push(Notice::Problem(problem.to_string()));
    extension.set_phase(Phase::Failed { reason });
}
