//! Requests that may take several rounds, because the server wants to know something first.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use zot_conversation::{Answer, Question, QuestionKind};

use super::elicitation::{answer_json, parse_question};
use super::params::{Params, to_json};
use super::{CallTime, Caller, Connection, Failure};
use crate::json_rpc::RpcError;
use crate::transport::{CallError, CallHints};

/// How often a server may ask for input in one call.
///
/// Limit: the call fails.
const MAX_INPUT_ROUNDS: usize = 10;

/// How many things a server may ask for at once.
///
/// Limit: the call fails.
const MAX_INPUT_REQUESTS: usize = 16;

/// The error of revision 2025-11-25 that asks for pages to be visited first.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// What every result says about itself.
#[derive(Deserialize)]
pub(super) struct ResultHead<'a> {
    #[serde(rename = "resultType")]
    kind: Option<String>,
    #[serde(rename = "inputRequests", borrow, default)]
    requests: Option<BTreeMap<String, InputRequest<'a>>>,
    #[serde(rename = "requestState", borrow)]
    state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct InputRequest<'a> {
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RequiredPages<'a> {
    #[serde(borrow)]
    elicitations: Vec<&'a RawValue>,
}

/// What a request came to.
pub(super) enum RoundResult {
    Complete(Box<RawValue>),
    /// The result is a task of the modern era.
    Task(Box<RawValue>),
}

impl Connection {
    /// Makes a request that may ask for input, and that cannot become a task.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: Params,
        hints: CallHints<'_>,
        caller: &Caller<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        let mut time = CallTime::new(caller.patience);
        match self
            .rounds(method, params, hints, caller, &mut time)
            .await?
        {
            RoundResult::Complete(result) => Ok(result),
            RoundResult::Task(_) => Err(invalid(format!("{method} cannot become a task"))),
        }
    }

    pub(super) async fn rounds(
        &self,
        method: &str,
        params: Params,
        hints: CallHints<'_>,
        caller: &Caller<'_>,
        time: &mut CallTime,
    ) -> Result<RoundResult, Failure> {
        let mut round = params.clone();
        for _ in 0..=MAX_INPUT_ROUNDS {
            let sent = self
                .watched(method, round, hints.clone(), caller, time)
                .await;
            let result = match sent {
                Err(Failure::Call(CallError::Refused(error)))
                    if error.code == URL_ELICITATION_REQUIRED =>
                {
                    self.visit_pages(error, caller, time).await?;
                    round = params.clone();
                    continue;
                }
                sent => sent?,
            };
            let head: ResultHead<'_> = serde_json::from_str(result.get())
                .map_err(|error| invalid(format!("expected a result object: {error}")))?;
            match head.kind.as_deref() {
                None | Some("complete") => return Ok(RoundResult::Complete(result)),
                Some("task") => return Ok(RoundResult::Task(result)),
                Some("input_required") => {
                    if head.requests.is_none() && head.state.is_none() {
                        return Err(invalid(
                            "input_required names neither inputs nor a state".to_owned(),
                        ));
                    }
                    round = params.clone();
                    if let Some(requests) = head.requests {
                        let responses = self.inputs(requests, caller, time).await?;
                        round = round.with_json("inputResponses", &responses);
                    }
                    if let Some(state) = head.state {
                        round = round.with_json("requestState", state.get());
                    }
                }
                Some(other) => {
                    return Err(invalid(format!("unknown result type {other:?}")));
                }
            }
        }
        Err(Failure::TooManyRounds(MAX_INPUT_ROUNDS))
    }

    /// Answers what a server asks for, and returns the answers as an object.
    pub(super) async fn inputs(
        &self,
        requests: BTreeMap<String, InputRequest<'_>>,
        caller: &Caller<'_>,
        time: &mut CallTime,
    ) -> Result<String, Failure> {
        if requests.len() > MAX_INPUT_REQUESTS {
            return Err(invalid(format!(
                "it asks for {} things at once, more than {MAX_INPUT_REQUESTS}",
                requests.len()
            )));
        }
        let mut responses = Vec::with_capacity(requests.len());
        for (key, request) in requests {
            let response = self.input(&request, caller, time).await?;
            responses.push(format!("{}:{response}", to_json(&key)));
        }
        Ok(format!("{{{}}}", responses.join(",")))
    }

    async fn input(
        &self,
        request: &InputRequest<'_>,
        caller: &Caller<'_>,
        time: &mut CallTime,
    ) -> Result<String, Failure> {
        match (request.method.as_str(), request.params) {
            ("elicitation/create", Some(params)) => {
                let question = parse_question(self.exchange.server(), params).map_err(invalid)?;
                let answer = ask_person(question, caller, time).await?;
                Ok(answer_json(&answer))
            }
            ("roots/list", _) => Ok(self.exchange.roots()),
            (method, _) => Err(invalid(format!(
                "it asks for {method}, which zot does not do"
            ))),
        }
    }

    /// Asks the user to visit the pages that a refusal names.
    async fn visit_pages(
        &self,
        refusal: RpcError,
        caller: &Caller<'_>,
        time: &mut CallTime,
    ) -> Result<(), Failure> {
        let data = refusal.data.as_deref().map_or("{}", RawValue::get);
        let Ok(pages) = serde_json::from_str::<RequiredPages<'_>>(data) else {
            return Err(CallError::Refused(refusal).into());
        };
        for page in pages.elicitations.iter().take(MAX_INPUT_REQUESTS) {
            let question = parse_question(self.exchange.server(), page).map_err(invalid)?;
            let is_page = matches!(question.kind, QuestionKind::Url { .. });
            let answer = ask_person(question, caller, time).await?;
            if !is_page || !matches!(answer, Answer::Accept { .. }) {
                return Err(CallError::Refused(refusal).into());
            }
        }
        match pages.elicitations.is_empty() {
            true => Err(CallError::Refused(refusal).into()),
            false => Ok(()),
        }
    }
}

/// Asks, and does not count the time it takes.
async fn ask_person(
    question: Question,
    caller: &Caller<'_>,
    time: &mut CallTime,
) -> Result<Answer, Failure> {
    let since = Instant::now();
    let answer = tokio::select! {
        answer = caller.questions.ask(question) => answer,
        () = caller.cancel.cancelled() => return Err(Failure::Cancelled),
    };
    time.end_pause(since);
    Ok(answer)
}

pub(super) fn invalid(message: String) -> Failure {
    Failure::Call(CallError::Invalid(message))
}
