//! Passes frames to their handlers, and limits how many run at once.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use zot_wire::RawJson;
use zot_wire::extension::{
    EventKind, ExtensionFrame, FrameError, HelloAck, HostFrame, LifecycleEvent,
};

use crate::handler::{failed, guarded};
use crate::outbox::log;
use crate::registry::Registry;
use crate::{Context, Level, OnFailure, PanelInput, Response, ToolResult, Verdict};

/// Tool calls that run concurrently.
///
/// Limit: further tool calls wait.
const MAX_RUNNING_CALLS: usize = 64;

/// Tool calls and commands that run or wait.
///
/// Limit: a further tool call is refused.
const MAX_ACCEPTED_CALLS: usize = 1024;

/// Interceptions that run. zot sends one after another, so more are a mistake.
///
/// Limit: the call is treated as if the interceptor had failed.
const MAX_INTERCEPTIONS: usize = 64;

/// Events and panel inputs that wait for earlier ones. More are dropped, because reading must not
/// stop for them.
///
/// Limit: the newest events and panel inputs are dropped and logged.
const MAX_WAITING_EVENTS: usize = 1024;

/// Whether there is more to do after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    End,
}

pub(super) struct Dispatcher {
    registry: Arc<Registry>,
    context: Context,
    on_failure: OnFailure,
    tasks: JoinSet<()>,
    /// `None` if the extension has no such handlers.
    events: Option<Queue<LifecycleEvent>>,
    panels: Option<Queue<(String, PanelInput)>>,
    running: Arc<Semaphore>,
    calls: Arc<Semaphore>,
    interceptions: Arc<Semaphore>,
}

/// A queue of items that are handled one after another.
struct Queue<T> {
    sender: mpsc::Sender<T>,
    /// The kind of its handlers, for the log.
    name: &'static str,
    /// Set while the queue is full, so that this is logged once.
    dropping: bool,
}

impl<T> Queue<T> {
    fn new(name: &'static str) -> (Self, mpsc::Receiver<T>) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
        let queue = Self {
            sender,
            name,
            dropping: false,
        };
        (queue, receiver)
    }

    fn push(&mut self, item: T) {
        let dropped = self.sender.try_send(item).is_err();
        if dropped && !self.dropping {
            let name = self.name;
            log(format_args!(
                "the {name} handlers are too slow: frames are dropped"
            ));
        }
        self.dropping = dropped;
    }
}

impl Dispatcher {
    pub(super) fn new(registry: Registry, context: Context) -> Self {
        let registry = Arc::new(registry);
        let mut tasks = JoinSet::new();
        let events = (!registry.events.is_empty()).then(|| {
            let (queue, events) = Queue::new("event");
            tasks.spawn_local(handle_events(
                Arc::clone(&registry),
                context.clone(),
                events,
            ));
            queue
        });
        let panels = (!registry.panels.is_empty()).then(|| {
            let (queue, inputs) = Queue::new("panel");
            tasks.spawn_local(handle_panels(
                Arc::clone(&registry),
                context.clone(),
                inputs,
            ));
            queue
        });
        Self {
            on_failure: registry.on_failure.unwrap_or_default(),
            registry,
            context,
            tasks,
            events,
            panels,
            running: Arc::new(Semaphore::new(MAX_RUNNING_CALLS)),
            calls: Arc::new(Semaphore::new(MAX_ACCEPTED_CALLS)),
            interceptions: Arc::new(Semaphore::new(MAX_INTERCEPTIONS)),
        }
    }

    /// Handles a line.
    pub(super) fn accept(&mut self, line: &[u8]) -> Flow {
        // Remove tasks that have ended.
        while self.tasks.try_join_next().is_some() {}
        if line.trim_ascii().is_empty() {
            return Flow::Continue;
        }
        match HostFrame::parse(line) {
            Ok(HostFrame::Shutdown) => return Flow::End,
            Ok(frame) => self.start(frame),
            // From a newer zot.
            Err(FrameError::UnknownType(_)) => {}
            Err(error) => self.answer_broken(error),
        }
        Flow::Continue
    }

    /// Waits for all tasks; nothing new is accepted.
    pub(super) async fn finish(&mut self) {
        self.events = None;
        self.panels = None;
        while self.tasks.join_next().await.is_some() {}
    }

    /// Stops all tasks.
    pub(super) async fn cancel(&mut self) {
        self.tasks.shutdown().await;
    }

    fn start(&mut self, frame: HostFrame) {
        match frame {
            HostFrame::HelloAck(host) => self.receive_host(host),
            HostFrame::CommandInvoked { id, name, args } => self.run_command(id, &name, args),
            HostFrame::ToolCall { id, name, args } => self.call_tool(id, name, args),
            HostFrame::Event(event) => self.queue_event(event),
            HostFrame::EventIntercept { id, event } => self.intercept(id, event),
            HostFrame::PanelKey {
                panel_id,
                key,
                text,
            } => self.queue_panel(panel_id, PanelInput::Key { key, text }),
            HostFrame::PanelResize {
                panel_id,
                width,
                height,
            } => self.queue_panel(panel_id, PanelInput::Resize { width, height }),
            HostFrame::PanelClose { panel_id } => self.queue_panel(panel_id, PanelInput::Close),
            HostFrame::Shutdown => {}
        }
    }

    fn receive_host(&mut self, host: HelloAck) {
        if self.registry.on_failure.is_none() && !self.registry.interceptors.is_empty() {
            self.on_failure = OnFailure::of_manifest(Path::new(&host.extension_dir));
        }
        self.context.introduce(host);
    }

    fn run_command(&mut self, id: String, name: &str, args: String) {
        let Some(handler) = self.registry.command(name).cloned() else {
            let response = Response::error(format!("there is no command {name:?}"));
            return self.offer_response(id, response);
        };
        let Some(slot) = slot(&self.calls) else {
            return self.offer_response(id, Response::error(busy()));
        };
        let context = self.context.clone();
        let name = name.to_owned();
        self.tasks.spawn_local(async move {
            let _slot = slot;
            let response = guarded(handler(args, context.clone()))
                .await
                .unwrap_or_else(|panic| Response::error(format!("command {name} {panic}")));
            let frame = ExtensionFrame::CommandResponse(response.into_wire(id));
            context.outbox().answer(frame).await;
        });
    }

    fn call_tool(&mut self, id: String, name: String, args: RawJson) {
        let Some(handler) = self.registry.tool(&name).cloned() else {
            let result = ToolResult::error(format!("there is no tool {name:?}"));
            return self.offer_result(id, result);
        };
        let Some(slot) = slot(&self.calls) else {
            return self.offer_result(id, ToolResult::error(busy()));
        };
        let running = Arc::clone(&self.running);
        let context = self.context.clone();
        self.tasks.spawn_local(async move {
            let _slot = slot;
            // Fails only if the semaphore is closed, which never happens.
            let _running = running.acquire_owned().await;
            let result = guarded(handler(args, context.clone()))
                .await
                .unwrap_or_else(|panic| ToolResult::error(format!("tool {name} {panic}")));
            let frame = ExtensionFrame::ToolResult(result.into_wire(id));
            context.outbox().answer(frame).await;
        });
    }

    fn intercept(&mut self, id: String, event: LifecycleEvent) {
        let kind = event.kind();
        let Some(interceptor) = self.registry.interceptor(kind) else {
            return self.offer_verdict(id, Verdict::Allow);
        };
        let Some(slot) = slot(&self.interceptions) else {
            let verdict = failed_verdict(kind, &failed(busy()), self.on_failure, &self.context);
            return self.offer_verdict(id, verdict);
        };
        let handler = Arc::clone(&interceptor.handler);
        let context = self.context.clone();
        let policy = self.on_failure;
        self.tasks.spawn_local(async move {
            let _slot = slot;
            let verdict = guarded(handler(event, context.clone()))
                .await
                .flatten()
                .unwrap_or_else(|error| failed_verdict(kind, &error, policy, &context));
            let frame = ExtensionFrame::EventInterceptResponse(verdict.into_wire(id));
            context.outbox().answer(frame).await;
        });
    }

    fn queue_event(&mut self, event: LifecycleEvent) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    fn queue_panel(&mut self, panel: String, input: PanelInput) {
        if let Some(panels) = &mut self.panels {
            panels.push((panel, input));
        }
    }

    /// Responds to an invalid frame with an error.
    fn answer_broken(&self, error: FrameError) {
        log(format_args!("a frame from zot cannot be read: {error}"));
        let FrameError::Invalid {
            frame,
            id: Some(id),
            error,
        } = error
        else {
            return;
        };
        match frame {
            "command_invoked" => self.offer_response(id, Response::error(error)),
            "tool_call" => self.offer_result(id, ToolResult::error(error)),
            // The extension does not intercept events that it does not know.
            "event_intercept" => self.offer_verdict(id, Verdict::Allow),
            _ => {}
        }
    }

    fn offer_response(&self, id: String, response: Response) {
        let frame = ExtensionFrame::CommandResponse(response.into_wire(id));
        self.context.outbox().offer(frame);
    }

    fn offer_result(&self, id: String, result: ToolResult) {
        let frame = ExtensionFrame::ToolResult(result.into_wire(id));
        self.context.outbox().offer(frame);
    }

    fn offer_verdict(&self, id: String, verdict: Verdict) {
        let frame = ExtensionFrame::EventInterceptResponse(verdict.into_wire(id));
        self.context.outbox().offer(frame);
    }
}

async fn handle_events(
    registry: Arc<Registry>,
    context: Context,
    mut events: mpsc::Receiver<LifecycleEvent>,
) {
    while let Some(event) = events.recv().await {
        let kind = event.kind();
        for handler in &registry.events {
            if handler.kind != kind {
                continue;
            }
            let handled = guarded((handler.handler)(event.clone(), context.clone())).await;
            if let Err(error) = handled.flatten() {
                log(format_args!("the handler of {} {error}", kind.as_str()));
            }
        }
    }
}

async fn handle_panels(
    registry: Arc<Registry>,
    context: Context,
    mut inputs: mpsc::Receiver<(String, PanelInput)>,
) {
    while let Some((panel, input)) = inputs.recv().await {
        let Some(handler) = registry.panel(&panel) else {
            log(format_args!("there is no panel {panel:?}"));
            continue;
        };
        let handled = guarded(handler(input, context.clone())).await;
        if let Err(error) = handled.flatten() {
            log(format_args!("the handler of panel {panel} {error}"));
        }
    }
}

/// Returns the verdict of an interceptor that failed. The response cannot carry the error, so the user
/// is notified.
fn failed_verdict(kind: EventKind, error: &str, policy: OnFailure, context: &Context) -> Verdict {
    let problem = format!("the interceptor of {} {error}", kind.as_str());
    let (verdict, consequence) = match policy {
        OnFailure::Allow => (Verdict::Allow, "allowed"),
        OnFailure::Block => (Verdict::block(&problem), "blocked"),
    };
    let message = format!("{problem} ({consequence})");
    log(&message);
    context.notify(Level::Error, message);
    verdict
}

fn busy() -> String {
    "the extension has too many calls at once; try again later".to_owned()
}

fn slot(semaphore: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(semaphore).try_acquire_owned().ok()
}
