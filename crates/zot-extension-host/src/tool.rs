//! A tool that an extension runs.

use std::sync::Arc;

use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolInvocation, ToolOrigin, ToolOutput};

use crate::extension::Extension;

pub(crate) struct ExtensionTool {
    pub(crate) extension: Arc<Extension>,
    pub(crate) definition: Arc<ToolDefinition>,
}

impl Tool for ExtensionTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn origin(&self) -> Option<ToolOrigin> {
        Some(ToolOrigin::Extension {
            extension: self.extension.name().to_owned(),
            tool: self.definition.name.clone(),
        })
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(self.extension.call_tool(
            &self.definition.name,
            invocation.arguments.into(),
            invocation.cancel,
        ))
    }
}
