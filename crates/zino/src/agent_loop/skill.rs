//! Running code, and skills that turn a request into code.

use serde_json::{Value, json};

use super::reading::{RuntimeError, collect, error_text};
use super::{AgentLoopService, Mode, Run};
use crate::daemon::object as object_of;
use crate::definitions::Skill;
use crate::service::{Answer, Object};

const DEFAULT_EXECUTOR: &str = "bash";

impl AgentLoopService {
    /// What the model reads about code that has run.
    pub(super) async fn execute(&self, executor: &str, code: &str) -> Result<String, RuntimeError> {
        let request = Object::from_iter([
            ("type".to_owned(), "execute".into()),
            ("executor".to_owned(), executor.into()),
            ("code".to_owned(), code.into()),
        ]);
        match self.executor.ask(request).await? {
            Answer::Message(object) => match object.get("type").and_then(Value::as_str) {
                Some("result") => Ok(report(&object)),
                // For the model to read, as the result of a program that did not run.
                Some("error") => Ok(report(&object_of(
                    json!({ "exit_code": -1, "stderr": error_text(&object) }),
                ))),
                _ => Err(RuntimeError::Unexpected("exc")),
            },
            Answer::Chunk(_) | Answer::Done { .. } => Err(RuntimeError::Unexpected("exc")),
        }
    }

    /// Has one conversation say what to do, another write the code, and runs that.
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
        examples: &[Value],
        request: &str,
    ) -> Result<String, RuntimeError> {
        let mut messages = examples.to_vec();
        messages.push(json!({ "role": "user", "content": request }));
        let question = self.question(run, &messages, Mode::Collected);
        collect(&self.router, question, self.config.wire.max_frame_bytes).await
    }
}

/// Output, errors and exit code, as far as there are any.
fn report(result: &Object) -> String {
    let text = |name: &str| {
        let text = result.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    };
    let exit_code = result.get("exit_code").and_then(Value::as_i64);
    let parts = [
        text("stdout").map(ToOwned::to_owned),
        text("stderr").map(|text| format!("[stderr]\n{text}")),
        exit_code
            .filter(|code| *code != 0)
            .map(|code| format!("[exit code: {code}]")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.as_slice() {
        [] => "(no output)".to_owned(),
        parts => parts.join("\n"),
    }
}
