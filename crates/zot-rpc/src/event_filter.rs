//! Which events a reader is sent: the one filter, at the place where events become lines.

use std::collections::HashSet;

use zot_wire::rpc::Event;

/// What a reader has asked for.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// The types it named. Without any: all but those that are sent only to readers that name them.
    types: Option<HashSet<&'static str>>,
    /// Whether it wants to know whose tools are used. Recorded clients compare whole frames, so they
    /// are not sent what they have not asked for.
    details: bool,
}

/// A type of event that the protocol does not have.
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

    /// Admits only the events with these names from now on, or the default ones.
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
            None => !Event::ON_REQUEST.contains(&name),
            Some(types) => types.contains(name),
        }
    }

    /// Returns the event as it is sent, if it is admitted.
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
