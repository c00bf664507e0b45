//! The built-in tools as tools of the server (`--tools`).

use std::env;
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;
use zot_conversation::{
    BoxFuture, NobodyAnswers, Progress, Tool, ToolCallId, ToolEffect, ToolInvocation,
};
use zot_sdk::{ApprovalPolicy, ApprovalScope, Decision, Verdict};
use zot_tools::{Jail, JailError, ToolsConfig, builtin_tools};

use crate::agent::approval;
use crate::call::Caller;
use crate::elicitation::Answer;
use crate::result::CallResult;

/// Built-in tools that clients can call.
pub(crate) struct BuiltIn {
    tools: Vec<Arc<dyn Tool>>,
    approval: ApprovalPolicy,
}

/// No built-in tool has this name.
#[derive(Debug, thiserror::Error)]
#[error("--tools: unknown tool {name:?}; known: {}", .known.join(", "))]
pub struct UnknownTool {
    name: String,
    known: Vec<String>,
}

impl BuiltIn {
    /// Offers none.
    pub(crate) fn none() -> Self {
        Self {
            tools: Vec::new(),
            approval: ApprovalPolicy::default(),
        }
    }

    /// Offers the tools with these names, all if there are none, working in `cwd`.
    pub(crate) fn new(
        names: &[String],
        cwd: &Path,
        approval: ApprovalPolicy,
    ) -> Result<(Self, Arc<Jail>), UnknownTool> {
        let jail = Arc::new(Jail::new(cwd, Vec::new()));
        let all = builtin_tools(ToolsConfig {
            jail: Some(Arc::clone(&jail)),
            ..ToolsConfig::new(cwd, env::temp_dir())
        });
        let known: Vec<String> = all
            .iter()
            .map(|tool| tool.definition().name.clone())
            .collect();
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            return Err(UnknownTool {
                name: name.clone(),
                known,
            });
        }
        let is_chosen =
            |tool: &Arc<dyn Tool>| names.is_empty() || names.contains(&tool.definition().name);
        let tools = all.into_iter().filter(is_chosen).collect();
        Ok((Self { tools, approval }, jail))
    }

    pub(crate) fn declarations(&self) -> Vec<Value> {
        let declared = |tool: &Arc<dyn Tool>| {
            let definition = tool.definition();
            let only_reads = definition.effect == ToolEffect::ReadOnly;
            json!({
                "name": definition.name,
                "description": definition.description,
                "inputSchema": definition.parameters,
                "annotations": {
                    "readOnlyHint": only_reads,
                    "destructiveHint": !only_reads,
                    "openWorldHint": definition.name == "bash",
                },
            })
        };
        self.tools.iter().map(declared).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mut tools = self.tools.iter();
        tools.find(|tool| tool.definition().name == name).cloned()
    }

    pub(crate) fn approval(&self) -> &ApprovalPolicy {
        &self.approval
    }
}

/// Runs one call, after its user has allowed it where the policy wants that.
pub(crate) async fn run(
    tool: Arc<dyn Tool>,
    approval: ApprovalPolicy,
    arguments: Value,
    caller: Caller,
) -> CallResult {
    let Ok(arguments) = serde_json::value::to_raw_value(&arguments) else {
        return CallResult::error("expected an object as arguments");
    };
    let name = &tool.definition().name;
    if needs_permission(&approval.scope, name)
        && let Verdict::Deny { reason } = permitted(&*tool, &arguments, &approval, &caller).await
    {
        return CallResult::error(reason);
    }
    let id = ToolCallId::from(name.as_str());
    let progress = CallerProgress(&caller);
    let output = tool
        .run(ToolInvocation {
            id: &id,
            arguments: &arguments,
            progress: &progress,
            // Built-in tools ask nothing.
            questions: &NobodyAnswers,
            cancel: caller.cancel(),
        })
        .await;
    CallResult::of_blocks(&output.content, output.is_error)
}

fn needs_permission(scope: &ApprovalScope, name: &str) -> bool {
    match scope {
        ApprovalScope::Nothing => false,
        ApprovalScope::AllTools => true,
        ApprovalScope::Tools(names) => names.iter().any(|tool| tool == name),
    }
}

async fn permitted(
    tool: &dyn Tool,
    arguments: &RawValue,
    approval: &ApprovalPolicy,
    caller: &Caller,
) -> Verdict {
    let what = tool.preview(arguments);
    let question = approval::single_question(
        &tool.definition().name,
        what.as_deref().unwrap_or(arguments.get()),
        approval.timeout,
    );
    let answer = caller.ask(question);
    let answer = tokio::select! {
        () = caller.cancel().cancelled() => Answer::Cancel,
        answer = timeout(approval.timeout, answer) => match answer {
            Ok(answer) => answer.unwrap_or(Answer::Cancel),
            Err(_) => Answer::Cancel,
        },
    };
    let Decision { verdict, .. } = approval::decision(&answer);
    verdict
}

/// Passes on what a tool reports.
struct CallerProgress<'a>(&'a Caller);

impl Progress for CallerProgress<'_> {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        Box::pin(self.0.report(text))
    }
}

/// Confines the tools, and warns about gaps.
pub(crate) fn confine(jail: &Jail) -> Result<(), JailError> {
    jail.close().map(drop)
}
