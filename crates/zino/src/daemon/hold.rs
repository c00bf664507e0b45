//! The hold on a channel: only its owner may write to the channel, from before its history is read until
//! the answer is stored.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use zot_wire::zino::memory::{Hold, Request, Response};
use zot_wire::zino::{ErrorCode, Failure};

use crate::logging::Log;
use crate::peer::{Call, CallError, Peer};
use crate::unique_name::unique_name;

/// How long `mem` may take to grant a hold: it waits for another turn, or for the lease of a dead one.
///
/// Limit: the turn is refused.
const HOLD_WAIT: Duration = Duration::from_secs(20);

/// The pause before a broken hold is continued at another `mem`.
///
/// Limit: how soon a broken hold is continued.
const HOLD_PAUSE: Duration = Duration::from_millis(300);

/// A hold that lasts as long as its call to `mem` is open. Dropping it releases the channel.
pub(super) struct ChannelHold {
    memory: Peer<Request>,
    log: Log,
    channel: String,
    owner: String,
    fence: i64,
    call: Option<Call<Response>>,
}

/// Why a channel is not held.
enum HoldError {
    Refused(Failure),
    /// `mem` could not be asked.
    Unavailable(String),
}

impl ChannelHold {
    /// Takes the channel, waiting for another turn to end; returns the error for the client on failure, and
    /// `None` when the store of `mem` needs no holds, or its version has none.
    pub(super) async fn take(
        memory: &Peer<Request>,
        log: Log,
        channel: &str,
    ) -> Result<Option<Self>, Failure> {
        let memory = memory.clone().without_limit();
        let owner = unique_name();
        match request(&memory, channel, &owner, None).await {
            Ok((Some(fence), call)) => Ok(Some(Self {
                memory,
                log,
                channel: channel.to_owned(),
                owner,
                fence,
                call: Some(call),
            })),
            Ok((None, _)) => Ok(None),
            Err(HoldError::Refused(failure)) if is_unknown(&failure) => {
                log.warning(format_args!("{channel} is not held: mem has no holds"));
                Ok(None)
            }
            Err(HoldError::Refused(failure)) => match failure.code {
                Some(ErrorCode::StoreUnavailable) => {
                    Err(unusable(&failure.message.unwrap_or_default()))
                }
                _ => Err(failure),
            },
            Err(HoldError::Unavailable(reason)) => Err(unusable(&reason)),
        }
    }

    /// The proof for `mem` that this turn may write.
    pub(super) fn proof(&self) -> Hold {
        Hold {
            owner: self.owner.clone(),
            fence: self.fence,
        }
    }

    /// Keeps the hold, and returns the error for the client when another turn has taken the channel.
    ///
    /// While `mem` or its database is away, the turn continues; storing its end shows what is left of
    /// the hold.
    pub(super) async fn taken_over(&mut self) -> Failure {
        loop {
            // Borrowed, not taken: the end of the turn drops this future, and the hold must outlast it.
            if let Some(call) = &mut self.call {
                match call.next().await {
                    Ok(Some(Response::Error(failure))) if is_final(&failure) => return failure,
                    Ok(Some(Response::Error(failure))) => {
                        self.warn(failure.message.as_deref().unwrap_or_default());
                    }
                    Ok(Some(_)) => continue,
                    Ok(None) => self.warn("the hold ended"),
                    Err(error) => self.warn(&error.to_string()),
                }
                self.call = None;
            }
            sleep(HOLD_PAUSE).await;
            match request(&self.memory, &self.channel, &self.owner, Some(self.fence)).await {
                Ok((_, call)) => self.call = Some(call),
                Err(HoldError::Refused(failure)) if is_final(&failure) => return failure,
                Err(HoldError::Refused(_) | HoldError::Unavailable(_)) => {}
            }
        }
    }

    fn warn(&self, reason: &str) {
        self.log.warning(format_args!(
            "the hold on {} broke, trying to continue it: mem: {reason}",
            self.channel
        ));
    }
}

fn unusable(reason: &str) -> Failure {
    Failure {
        code: Some(ErrorCode::StoreUnavailable),
        message: Some(format!("the channel cannot be used now: mem: {reason}")),
    }
}

/// Whether `mem` does not know the request, like that of the original.
fn is_unknown(failure: &Failure) -> bool {
    let message = failure.message.as_deref().unwrap_or_default();
    failure.code.is_none() && message.starts_with("Unknown message type")
}

fn is_final(failure: &Failure) -> bool {
    failure.code == Some(ErrorCode::Moved)
}

/// Asks for a hold. Returns its fence, if the store has any, and the call that keeps it.
async fn request(
    memory: &Peer<Request>,
    channel: &str,
    owner: &str,
    fence: Option<i64>,
) -> Result<(Option<i64>, Call<Response>), HoldError> {
    let request = Request::HoldChannel {
        channel_id: channel.to_owned(),
        owner: owner.to_owned(),
        fence,
    };
    let granted = async {
        let mut call = memory.call(request).await?;
        let response = call.next().await?.ok_or(CallError::EndedEarly)?;
        Ok((response, call))
    };
    match timeout(HOLD_WAIT, granted).await {
        Ok(Ok((Response::Held { fence }, call))) => Ok((fence, call)),
        Ok(Ok((Response::Error(failure), _))) => Err(HoldError::Refused(failure)),
        Ok(Ok(_)) => Err(HoldError::Unavailable("unexpected response".to_owned())),
        Ok(Err(error)) => {
            let error: CallError = error;
            Err(HoldError::Unavailable(error.to_string()))
        }
        Err(_) => Err(HoldError::Unavailable(
            CallError::Silent(HOLD_WAIT).to_string(),
        )),
    }
}
