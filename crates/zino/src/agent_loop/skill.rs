//! Runs code, and skills that turn a request into code.

use zot_wire::zino::Message;
use zot_wire::zino::executor::{Code, ExecutionResult, Request, Response};
use zot_wire::zino::router::Inference;

use super::reading::{RuntimeError, collect, error_text};
use super::{AgentLoopService, Run};
use crate::definitions::Skill;
use crate::peer::CallError;
use crate::unique_name::unique_name;

const DEFAULT_EXECUTOR: &str = "bash";

impl AgentLoopService {
    /// Runs code and returns the report for the model.
    pub(super) async fn execute(&self, executor: &str, code: &str) -> Result<String, RuntimeError> {
        let code = Code {
            executor: executor.to_owned(),
            code: code.to_owned(),
            // Without a shared store nobody could tell whether the code has run.
            call: self.config.holds_channels().then(unique_name),
        };
        let response = match self.executor.ask(Request::Execute(code.clone())).await {
            Err(error) if code.call.is_some() && error.is_outcome_unknown() => {
                self.outcome(code, error).await?
            }
            response => response?,
        };
        match response {
            Response::Result(result) => Ok(report(&result)),
            // Reported to the model like a program that did not run.
            Response::Error(failure) => Ok(report(&ExecutionResult {
                exit_code: -1,
                stdout: String::new(),
                stderr: error_text(failure),
            })),
            _ => Err(RuntimeError::Unexpected("exc")),
        }
    }

    /// Asks once more for the result of code, after the first executor was lost.
    async fn outcome(&self, code: Code, error: CallError) -> Result<Response, RuntimeError> {
        self.log
            .warning(format_args!("exc: {error}: asking for the outcome"));
        match self.executor.ask(Request::Outcome(code)).await {
            // An executor of an earlier version does not know the request.
            Ok(Response::Error(_) | Response::Other(_)) => Err(error.into()),
            Ok(response) => Ok(response),
            Err(_) => Ok(Response::Result(ExecutionResult::interrupted())),
        }
    }

    /// Has one conversation plan, another write the code, and runs the code.
    pub(super) async fn delegate(
        &self,
        run: &Run,
        skill: &Skill,
        request: &str,
    ) -> Result<String, RuntimeError> {
        let plan = self.consult(run, &skill.interpreter, request).await?;
        let order = format!("{request} [KCR] {plan}");
        let code = self.consult(run, &skill.fabricator, &order).await?;
        let executor = skill.meta.executor.as_deref().unwrap_or(DEFAULT_EXECUTOR);
        self.execute(executor, &code).await
    }

    async fn consult(
        &self,
        run: &Run,
        examples: &[Message],
        request: &str,
    ) -> Result<String, RuntimeError> {
        let mut messages = examples.to_vec();
        messages.push(Message::new("user", request));
        let inference = Inference {
            messages,
            sampling: run.sampling,
            stream: false,
        };
        collect(&self.router, inference, self.config.wire.max_frame_bytes).await
    }
}

/// Formats output, errors and a non-zero exit code.
fn report(result: &ExecutionResult) -> String {
    let mut parts = Vec::new();
    if !result.stdout.is_empty() {
        parts.push(result.stdout.clone());
    }
    if !result.stderr.is_empty() {
        parts.push(format!("[stderr]\n{}", result.stderr));
    }
    if result.exit_code != 0 {
        parts.push(format!("[exit code: {}]", result.exit_code));
    }
    match parts.as_slice() {
        [] => "(no output)".to_owned(),
        parts => parts.join("\n"),
    }
}
