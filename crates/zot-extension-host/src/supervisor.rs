//! Keeps an extension running, within reason.

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use zot_extension_contract::LoadProblem;

use crate::extension::{Extension, Phase};
use crate::life::{LifeEnd, live};
use crate::limits::{GOOD_CONDUCT_TIME, RESTART_DELAYS};
use crate::notices::Notice;

/// Starts the extension, and again when it crashes, until it is stopped or given up.
pub(crate) async fn supervise(extension: Arc<Extension>, stop: CancellationToken) {
    let mut restarts = RESTART_DELAYS.into_iter();
    let mut is_first = true;
    loop {
        let started = Instant::now();
        let reason = match live(&extension, &stop).await {
            LifeEnd::Stopped => return extension.set_phase(Phase::Stopped),
            LifeEnd::Left => return extension.set_phase(Phase::Stopped),
            // What does not even start is broken, and will be the next time.
            LifeEnd::NeverStarted(reason) if is_first => return give_up(&extension, reason),
            LifeEnd::NeverStarted(reason) | LifeEnd::Crashed(reason) => reason,
        };
        is_first = false;
        if started.elapsed() > GOOD_CONDUCT_TIME {
            restarts = RESTART_DELAYS.into_iter();
        }
        let Some(delay) = restarts.next() else {
            let attempts = RESTART_DELAYS.len();
            return give_up(
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

fn give_up(extension: &Extension, reason: String) {
    let found = &extension.found;
    let problem = LoadProblem::new(found.directory.clone(), found.source, reason.clone());
    extension.log(&format!("given up: {reason}"));
    extension
        .surroundings
        .notices
        .push(Notice::Problem(problem.to_string()));
    extension.set_phase(Phase::Failed { reason });
}
