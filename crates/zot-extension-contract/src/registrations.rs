//! What an extension has registered.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::value::RawValue;
use zot_conversation::{ToolDefinition, ToolEffect};
use zot_wire::RawJson;
use zot_wire::extension::{EventKind, Subscription};

use crate::limits::{
    MAX_COMMAND_NAME_BYTES, MAX_EXTENSION_COMMANDS, MAX_EXTENSION_TOOLS,
    MAX_TOOL_DESCRIPTION_BYTES, MAX_TOOL_NAME_BYTES, MAX_TOOL_SCHEMA_BYTES,
};
use crate::schema::accept_schema;

/// A slash command of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    pub name: String,
    pub description: String,
    pub extension: String,
}

/// A set of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventSet(u8);

impl EventSet {
    pub fn insert(&mut self, kind: EventKind) {
        self.0 |= 1 << kind as u8;
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, kind: EventKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }
}

#[derive(Debug, Clone, Default)]
pub struct Registrations {
    pub commands: Vec<CommandInfo>,
    pub tools: Vec<Arc<ToolDefinition>>,
    pub events: EventSet,
    pub intercepts: EventSet,
    pub hold_text: bool,
    pub has_subscribed: bool,
}

impl Registrations {
    /// Adds a command; an older one of the same name is replaced.
    pub fn add_command(&mut self, command: CommandInfo) -> Result<(), String> {
        let CommandInfo {
            name, description, ..
        } = &command;
        let is_good = |character: char| !character.is_whitespace() && !character.is_control();
        if name.is_empty()
            || name.len() > MAX_COMMAND_NAME_BYTES
            || name.starts_with('/')
            || !name.chars().all(is_good)
        {
            return Err(format!(
                "register_command: {name:?} is not a valid command name: no white space, no leading '/', at \
                 most {MAX_COMMAND_NAME_BYTES} bytes"
            ));
        }
        check_description(description)?;
        self.commands.retain(|known| known.name != *name);
        if self.commands.len() == MAX_EXTENSION_COMMANDS {
            return Err(format!(
                "register_command: {name:?} is one too many, {MAX_EXTENSION_COMMANDS} commands are allowed"
            ));
        }
        self.commands.push(command);
        Ok(())
    }

    /// Adds a tool; an older one of the same name is replaced.
    pub fn add_tool(
        &mut self,
        name: String,
        description: String,
        schema: Option<&RawJson>,
    ) -> Result<(), String> {
        // Model clients adapt names to what their providers accept; people have to be able to read
        // and type them.
        let can_start = |letter: char| letter.is_alphanumeric() || letter == '_';
        if !name.starts_with(can_start)
            || name.len() > MAX_TOOL_NAME_BYTES
            || name.chars().any(char::is_control)
        {
            return Err(format!(
                "register_tool: {name:?} is not a valid tool name: begin with a letter, a digit or \
                 '_', use no control characters and at most {MAX_TOOL_NAME_BYTES} bytes"
            ));
        }
        check_description(&description)?;
        if schema.is_some_and(|schema| schema.get().len() > MAX_TOOL_SCHEMA_BYTES) {
            return Err(format!(
                "register_tool: {name:?}: schema: it is longer than {MAX_TOOL_SCHEMA_BYTES} bytes"
            ));
        }
        // A schema that no model could use is kept, so that the agent reports the tool as left out;
        // the error returned here is for the author, in the log.
        let (parameters, problem) = match accept_schema(schema.map(RawJson::get)) {
            Ok(accepted) => (accepted.schema, None),
            Err(error) => {
                let text = schema.map_or("{}", RawJson::get).to_owned();
                let text = RawValue::from_string(text).map_err(|error| error.to_string())?;
                let problem = format!("register_tool: {name:?}: schema: {error}");
                (text, Some(problem))
            }
        };
        self.tools.retain(|known| known.name != name);
        if self.tools.len() == MAX_EXTENSION_TOOLS {
            return Err(format!(
                "register_tool: {name:?} is one too many, {MAX_EXTENSION_TOOLS} tools are allowed"
            ));
        }
        self.tools.push(Arc::new(ToolDefinition {
            name,
            description,
            parameters,
            // Its effects are unknown, so it runs alone and in order.
            effect: ToolEffect::Changes,
        }));
        problem.map_or(Ok(()), Err)
    }

    /// Adds a subscription; returns the unknown names in it.
    pub fn subscribe(&mut self, subscription: &Subscription) -> Vec<String> {
        let mut unknown = Vec::new();
        self.has_subscribed = true;
        for name in &subscription.events {
            match EventKind::named(name) {
                Some(kind) => self.events.insert(kind),
                None => unknown.push(name.clone()),
            }
        }
        for name in &subscription.intercept {
            match EventKind::named(name).filter(|kind| kind.can_be_intercepted()) {
                Some(kind) => self.intercepts.insert(kind),
                None => unknown.push(name.clone()),
            }
        }
        self.hold_text |= subscription.hold_text;
        unknown
    }
}

fn check_description(description: &str) -> Result<(), String> {
    if description.len() > MAX_TOOL_DESCRIPTION_BYTES {
        return Err(format!(
            "the description is longer than {MAX_TOOL_DESCRIPTION_BYTES} bytes"
        ));
    }
    Ok(())
}
