//! Runs code once, however often and wherever it is asked for.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use zot_wire::zino::claims::{Claim, Request, Response};
use zot_wire::zino::executor::ExecutionResult;
use zot_wire::zino::{ErrorCode, Failure};

use crate::logging::Log;
use crate::peer::Peer;
use crate::unique_name::unique_name;

/// How often a claim is renewed while its code runs.
///
/// Limit: the claim is renewed.
const CLAIM_RENEWAL_TIME: Duration = Duration::from_secs(3);

/// The pauses while another executor runs the code.
const FIRST_RUNNING_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_RUNNING_PAUSE: Duration = Duration::from_secs(1);

/// How long the end of claims may take when the service ends, after its requests.
///
/// Limit: the claims expire.
const CLAIMS_ENDING_TIME: Duration = Duration::from_secs(7);

/// How often it is checked whether all claims have ended.
const ENDING_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Whether the caller may have had the code run before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    First,
    Again,
}

/// The claims of one executor.
pub(super) struct Claims {
    /// `None` when no store is shared.
    store: Option<Peer<Request>>,
    log: Log,
    /// Each keeps one claim.
    tasks: Mutex<JoinSet<()>>,
}

impl Claims {
    pub(super) fn new(store: Option<Peer<Request>>, log: Log) -> Self {
        Self {
            store,
            log,
            tasks: Mutex::default(),
        }
    }

    /// Does `work` unless it was begun under the same name already; returns its result in both cases.
    ///
    /// Without an answer of the store nothing is run.
    pub(super) async fn run_once(
        &self,
        call: &str,
        asked: Asked,
        work: impl Future<Output = ExecutionResult>,
    ) -> Result<ExecutionResult, Failure> {
        let claim = match &self.store {
            Some(store) => {
                let owner = unique_name();
                match (self.take(store, call, &owner).await, asked) {
                    (Ok(Claim::Taken), _) => {
                        return Ok(self.run_claimed(store, call, owner, work).await);
                    }
                    (Ok(claim), _) => claim,
                    (Err(_), Asked::Again) => Claim::Interrupted,
                    (Err(failure), Asked::First) => return Err(failure),
                }
            }
            None => Claim::Unshared,
        };
        Ok(match (claim, asked) {
            (Claim::Finished(result), _) => result,
            (Claim::Unshared, Asked::First) => work.await,
            _ => ExecutionResult::interrupted(),
        })
    }

    /// Claims the call, waiting while another executor runs it.
    async fn take(&self, store: &Peer<Request>, call: &str, owner: &str) -> Result<Claim, Failure> {
        let mut pause = FIRST_RUNNING_PAUSE;
        loop {
            let request = Request::Take {
                call: call.to_owned(),
                owner: owner.to_owned(),
            };
            match store.ask(request).await {
                Ok(Response::Claim(Claim::Running)) => {}
                Ok(Response::Claim(claim)) => return Ok(claim),
                // Another mem may know claims, and let an executor run the same code.
                Ok(Response::Error(failure)) if is_unknown(&failure) => {
                    return Err(unclaimed("it is too old for claims: update it"));
                }
                Ok(Response::Error(failure)) => {
                    return Err(unclaimed(&failure.message.unwrap_or_default()));
                }
                Ok(Response::Done | Response::Other(_)) => {
                    return Err(unclaimed("unexpected response"));
                }
                Err(error) => return Err(unclaimed(&error.to_string())),
            }
            sleep(pause).await;
            pause = LONGEST_RUNNING_PAUSE.min(pause * 2);
        }
    }

    /// Does `work` while its claim is renewed. If this future is dropped, the claim says so.
    async fn run_claimed(
        &self,
        store: &Peer<Request>,
        call: &str,
        owner: String,
        work: impl Future<Output = ExecutionResult>,
    ) -> ExecutionResult {
        let (result_sender, result) = oneshot::channel();
        let (stored_sender, stored) = oneshot::channel();
        let kept = KeptClaim {
            store: store.clone(),
            log: self.log,
            call: call.to_owned(),
            owner,
        };
        self.start(async move {
            kept.keep_until(result).await;
            let _ = stored_sender.send(());
        });
        let result = work.await;
        if result_sender.send(result.clone()).is_ok() {
            // Stored before it is reported: a caller that asks again gets the same.
            let _ = stored.await;
        }
        result
    }

    /// Waits until no code is running and all claims have been told so.
    pub(super) async fn end(&self, requests_ending_time: Duration) {
        let limit = requests_ending_time.saturating_add(CLAIMS_ENDING_TIME);
        let began = Instant::now();
        while self.has_tasks() && began.elapsed() < limit {
            sleep(ENDING_POLL_INTERVAL).await;
        }
    }

    fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn has_tasks(&self) -> bool {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        !tasks.is_empty()
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A claim on code that is running here.
struct KeptClaim {
    store: Peer<Request>,
    log: Log,
    call: String,
    owner: String,
}

impl KeptClaim {
    /// Renews the claim until there is a result, or until there will be none.
    async fn keep_until(self, mut result: oneshot::Receiver<ExecutionResult>) {
        let result = loop {
            let renewal = async {
                sleep(CLAIM_RENEWAL_TIME).await;
                let (call, owner) = (self.call.clone(), self.owner.clone());
                // The code goes on without: nobody else runs it, and its caller still waits.
                let _ = self.store.ask(Request::Renew { call, owner }).await;
            };
            tokio::select! {
                biased;
                result = &mut result => break result.ok(),
                () = renewal => {}
            }
        };
        let finish = Request::Finish {
            call: self.call,
            owner: self.owner,
            result,
        };
        let error = match self.store.ask(finish).await {
            Ok(Response::Error(failure)) => failure.message.unwrap_or_default(),
            Ok(_) => return,
            Err(error) => error.to_string(),
        };
        self.log
            .warning(format_args!("the result of a claim is not stored: {error}"));
    }
}

fn unclaimed(reason: &str) -> Failure {
    Failure {
        code: Some(ErrorCode::StoreUnavailable),
        message: Some(format!(
            "the code was not run, it cannot be claimed: mem: {reason}"
        )),
    }
}

/// Whether `mem` does not know the request, like that of an earlier version.
fn is_unknown(failure: &Failure) -> bool {
    let message = failure.message.as_deref().unwrap_or_default();
    failure.code.is_none() && message.starts_with("Unknown message type")
}
