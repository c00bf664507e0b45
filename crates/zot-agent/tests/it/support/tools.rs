//! Tools made of a closure.

use std::sync::Arc;

use serde_json::value::RawValue;
use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};

use super::Log;
use super::gate::Gate;

struct ScriptedTool<F> {
    definition: Arc<ToolDefinition>,
    behaviour: F,
}

impl<F> Tool for ScriptedTool<F>
where
    F: for<'a> Fn(ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> + Send + Sync,
{
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        (self.behaviour)(invocation)
    }
}

pub(crate) fn tool<F>(name: &str, effect: ToolEffect, behaviour: F) -> Arc<dyn Tool>
where
    F: for<'a> Fn(ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> + Send + Sync + 'static,
{
    Arc::new(ScriptedTool {
        definition: Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: format!("the {name} tool"),
            parameters: RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap(),
            effect,
        }),
        behaviour,
    })
}

/// Changes something: returns the arguments it was given.
pub(crate) fn echo() -> Arc<dyn Tool> {
    tool("echo", ToolEffect::Changes, |invocation| {
        let arguments = invocation.arguments.to_string();
        Box::pin(async move { ToolOutput::text(arguments) })
    })
}

/// Waits at `gate`; when aborted there, says how far it came.
pub(crate) fn gated(name: &str, effect: ToolEffect, gate: &Gate) -> Arc<dyn Tool> {
    let gate = gate.clone();
    tool(name, effect, move |invocation| {
        let gate = gate.clone();
        Box::pin(async move {
            tokio::select! {
                () = gate.pass() => ToolOutput::text("finished"),
                () = invocation.cancel.cancelled() => ToolOutput::error("stopped half-way"),
            }
        })
    })
}

/// Logs when it begins and ends, waiting at `gate` in between.
pub(crate) fn logged(
    name: &'static str,
    effect: ToolEffect,
    log: &Log,
    gate: &Gate,
) -> Arc<dyn Tool> {
    let (log, gate) = (log.clone(), gate.clone());
    tool(name, effect, move |invocation| {
        let (log, gate) = (log.clone(), gate.clone());
        let id = invocation.id.clone();
        Box::pin(async move {
            log.add(format!("{id} begins"));
            gate.pass().await;
            log.add(format!("{id} ends"));
            ToolOutput::text(id.as_str())
        })
    })
}
