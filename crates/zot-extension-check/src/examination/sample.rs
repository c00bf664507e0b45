//! Sample events to send to an extension.

use zot_wire::RawJson;
use zot_wire::extension::{EventKind, LifecycleEvent};

/// Returns the kinds of the events in `names` that are known.
pub(super) fn kinds(names: &[String]) -> Vec<EventKind> {
    names
        .iter()
        .filter_map(|name| EventKind::named(name))
        .collect()
}

/// Returns an event as an agent would send it.
pub(super) fn sample(kind: EventKind) -> LifecycleEvent {
    match kind {
        EventKind::SessionStart => LifecycleEvent::SessionStart,
        EventKind::TurnStart => LifecycleEvent::TurnStart { step: 1 },
        EventKind::TurnEnd => LifecycleEvent::TurnEnd {
            stop: "end".to_owned(),
            error: None,
        },
        EventKind::ToolCall => LifecycleEvent::ToolCall {
            tool_id: "call_1".to_owned(),
            tool_name: "bash".to_owned(),
            tool_args: RawJson::try_from("{\"command\":\"echo hi\"}".to_owned())
                .unwrap_or_else(|_| RawJson::empty_object()),
        },
        EventKind::AssistantMessage => LifecycleEvent::AssistantMessage {
            text: "All done.".to_owned(),
        },
    }
}
