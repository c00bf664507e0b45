//! Tools that clients can call themselves: built-in ones (`--tools`) and those of an embedding program.

use std::env;
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;
use zot_conversation::{
    Answer as ToolAnswer, BoxFuture, Progress, Question as ToolQuestion, Questions, Tool,
    ToolCallId, ToolEffect, ToolInvocation,
};
use zot_sdk::{ApprovalPolicy, ApprovalScope, Decision, Verdict};
use zot_tools::{ToolSandbox, ToolsConfig, builtin_tools};

use crate::agent::{approval, question};
use crate::call::Caller;
use crate::elicitation::Answer;
use crate::result::CallResult;

/// Tools that clients can call.
pub(crate) struct Offered {
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

impl Offered {
    /// Offers these tools.
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>, approval: ApprovalPolicy) -> Self {
        Self { tools, approval }
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

/// Returns the built-in tools with these names, all if there are none, working in `cwd`.
pub(crate) fn built_in(
    names: &[String],
    cwd: &Path,
    sandbox: Arc<ToolSandbox>,
) -> Result<Vec<Arc<dyn Tool>>, UnknownTool> {
    let all = builtin_tools(ToolsConfig {
        sandbox,
        ..ToolsConfig::new(cwd, env::temp_dir())
    });
    let name_of = |tool: &Arc<dyn Tool>| tool.definition().name.clone();
    let known: Vec<String> = all.iter().map(name_of).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        return Err(UnknownTool {
            name: name.clone(),
            known,
        });
    }
    let is_chosen = |tool: &Arc<dyn Tool>| names.is_empty() || names.contains(&name_of(tool));
    Ok(all.into_iter().filter(is_chosen).collect())
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
            questions: &CallerQuestions(&caller),
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

/// Passes on what a tool asks.
struct CallerQuestions<'a>(&'a Caller);

impl Questions for CallerQuestions<'_> {
    fn ask(&self, asked: ToolQuestion) -> BoxFuture<'_, ToolAnswer> {
        Box::pin(async move {
            let answer = self.0.ask(question::of_tool(&asked));
            question::answer(&answer.await.unwrap_or(Answer::Cancel))
        })
    }
}
