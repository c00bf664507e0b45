//! The one filter that decides which events a client gets.

use std::collections::HashSet;

use zot_wire::rpc::Event;

/// What a client has subscribed to.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// The types it named; `None` for all except those that have to be named.
    types: Option<HashSet<&'static str>>,
    /// Whether tool results name the extension that ran the call. Clients of the original compare
    /// whole frames, so this is off by default.
    details: bool,
}

/// The name of an event that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("events: unknown {name:?}; known: {}", Event::TYPES.join(", "))]
pub struct UnknownEvent {
    name: String,
}

impl EventFilter {
    /// Returns a filter that keeps details.
    pub fn with_details() -> Self {
        Self {
            types: None,
            details: true,
        }
    }

    /// Admits only the events with these names, or the default ones for `None`.
    pub fn subscribe(&mut self, names: Option<&[String]>) -> Result<(), UnknownEvent> {
        let known = |name: &String| {
            let known = Event::TYPES.into_iter().find(|known| known == name);
            known.ok_or_else(|| UnknownEvent { name: name.clone() })
        };
        self.types = match names {
            None => None,
            Some(names) => Some(names.iter().map(known).collect::<Result<_, _>>()?),
        };
        Ok(())
    }

    pub fn set_details(&mut self, details: bool) {
        self.details = details;
    }

    /// Returns the names of the admitted events, in the order of the documentation.
    pub fn names(&self) -> Vec<String> {
        let mut names = Event::TYPES.to_vec();
        names.retain(|name| self.includes(name));
        names.into_iter().map(ToOwned::to_owned).collect()
    }

    fn includes(&self, name: &str) -> bool {
        match &self.types {
            None => !Event::OPTIONAL_TYPES.contains(&name),
            Some(types) => types.contains(name),
        }
    }

    /// Returns the event as the client gets it, or `None` if it is not admitted.
    pub fn admit(&self, mut event: Event) -> Option<Event> {
        if !self.includes(event.type_name()) {
            return None;
        }
        if let Event::ToolResult { details, .. } = &mut event
            && !self.details
        {
            *details = None;
        }
        Some(event)
    }
}
