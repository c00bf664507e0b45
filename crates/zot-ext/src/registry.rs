//! All handlers of an extension, and the frames that announce them.

use serde_json::Value;
use zot_wire::RawJson;
use zot_wire::extension::{EventKind, ExtensionFrame, Hello, LifecycleEvent, Subscription};

use crate::event::Event;
use crate::handler::{Handler, Outcome};
use crate::{OnFailure, PanelInput, Response, ToolResult, Verdict};

pub(crate) struct Registry {
    name: String,
    version: String,
    pub(crate) commands: Vec<Named<String, Response>>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) events: Vec<EventHandler>,
    pub(crate) interceptors: Vec<Interceptor>,
    pub(crate) hold_text: bool,
    /// If it is not set, the manifest's policy applies.
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) panels: Vec<(String, Handler<PanelInput, Outcome>)>,
    pub(crate) shutdown: Option<Handler<(), Outcome>>,
}

/// A handler that is called by name.
pub(crate) struct Named<A, T> {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) handler: Handler<A, T>,
}

pub(crate) struct Tool {
    pub(crate) named: Named<RawJson, ToolResult>,
    pub(crate) schema: Value,
}

pub(crate) struct EventHandler {
    pub(crate) kind: EventKind,
    pub(crate) handler: Handler<LifecycleEvent, Outcome>,
}

pub(crate) struct Interceptor {
    pub(crate) kind: EventKind,
    pub(crate) handler: Handler<LifecycleEvent, Result<Verdict, String>>,
}

impl Registry {
    pub(crate) fn new(name: String, version: String) -> Self {
        Self {
            name,
            version,
            commands: Vec::new(),
            tools: Vec::new(),
            events: Vec::new(),
            interceptors: Vec::new(),
            hold_text: false,
            on_failure: None,
            panels: Vec::new(),
            shutdown: None,
        }
    }

    pub(crate) fn command(&self, name: &str) -> Option<&Handler<String, Response>> {
        let command = self.commands.iter().find(|command| command.name == name);
        command.map(|command| &command.handler)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Handler<RawJson, ToolResult>> {
        let tool = self.tools.iter().find(|tool| tool.named.name == name);
        tool.map(|tool| &tool.named.handler)
    }

    pub(crate) fn panel(&self, id: &str) -> Option<&Handler<PanelInput, Outcome>> {
        let panel = self.panels.iter().find(|(panel, _)| panel == id);
        panel.map(|(_, handler)| handler)
    }

    pub(crate) fn interceptor(&self, kind: EventKind) -> Option<&Interceptor> {
        self.interceptors
            .iter()
            .find(|interceptor| interceptor.kind == kind)
    }

    pub(crate) fn intercepts<E: Event>(&self) -> bool {
        self.interceptor(E::KIND).is_some()
    }

    /// Returns the first frames of the extension.
    pub(crate) fn introduction(&self) -> Vec<ExtensionFrame> {
        let mut frames = vec![ExtensionFrame::Hello(Hello {
            name: self.name.clone(),
            version: self.version.clone(),
            capabilities: self.capabilities(),
        })];
        frames.extend(
            self.commands
                .iter()
                .map(|command| ExtensionFrame::RegisterCommand {
                    name: command.name.clone(),
                    description: command.description.clone(),
                }),
        );
        frames.extend(self.tools.iter().map(|tool| ExtensionFrame::RegisterTool {
            name: tool.named.name.clone(),
            description: tool.named.description.clone(),
            schema: RawJson::try_from(tool.schema.to_string()).ok(),
        }));
        if self.watches() {
            frames.push(ExtensionFrame::Subscribe(self.subscription()));
        }
        frames.push(ExtensionFrame::Ready);
        frames
    }

    fn watches(&self) -> bool {
        !self.events.is_empty() || !self.interceptors.is_empty()
    }

    fn capabilities(&self) -> Vec<String> {
        [
            ("commands", !self.commands.is_empty()),
            ("tools", !self.tools.is_empty()),
            ("events", self.watches()),
        ]
        .into_iter()
        .filter(|(_, used)| *used)
        .map(|(capability, _)| capability.to_owned())
        .collect()
    }

    fn subscription(&self) -> Subscription {
        let names = |wanted: &dyn Fn(EventKind) -> bool| {
            EventKind::ALL
                .into_iter()
                .filter(|kind| wanted(*kind))
                .map(|kind| kind.as_str().to_owned())
                .collect()
        };
        Subscription {
            events: names(&|kind| self.events.iter().any(|handler| handler.kind == kind)),
            intercept: names(&|kind| self.interceptor(kind).is_some()),
            hold_text: self.hold_text,
        }
    }
}
