//! The definition of an extension.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use zot_wire::{RawJson, arguments};

use crate::event::{AssistantMessage, Event, ToolCall, TurnStart};
use crate::handler::{erase, failed};
use crate::outbox::{self, Outgoing};
use crate::registry::{EventHandler, Interceptor, Named, Registry, Tool};
use crate::{
    Context, Error, IntoOutcome, IntoResponse, IntoToolResult, IntoVerdict, Mistake, OnFailure,
    PanelInput, Result, ToolResult, server, stdio,
};

/// An extension: a name, a version, and what it does.
///
/// Handlers are async and run concurrently on one thread, so a slow one must wait with `.await`; use
/// [`blocking`](crate::blocking) for work that cannot. A handler that panics or fails sends an error as
/// its response, and the extension keeps running.
pub struct Extension {
    registry: Registry,
    context: Context,
    outgoing: mpsc::Receiver<Outgoing>,
    /// The first mistake; reported when the extension is run, so that building needs no `?`.
    mistake: Option<Mistake>,
}

impl Extension {
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let (outbox, outgoing) = outbox::channel();
        Self {
            registry: Registry::new(name.into(), version.into()),
            context: Context::new(outbox),
            outgoing,
            mistake: None,
        }
    }

    /// Returns a handle to the host for use outside of handlers. What is sent before the extension
    /// runs is queued until it does.
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    /// Adds a slash command. The handler gets what the user typed after its name.
    #[must_use]
    pub fn command<R: IntoResponse + 'static>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl AsyncFn(String) -> R + Send + Sync + 'static,
    ) -> Self {
        self.command_with(name, description, async move |args, _| handler(args).await)
    }

    /// Like [`command`](Self::command), for handlers that need the [`Context`].
    #[must_use]
    pub fn command_with<R: IntoResponse + 'static>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl AsyncFn(String, Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        self.refuse_twice("command", &name, self.registry.command(&name).is_some());
        self.registry.commands.push(Named {
            name,
            description: description.into(),
            handler: erase(handler, R::into_response),
        });
        self
    }

    /// Adds a tool for the model. The schema is derived from the type of the handler's argument, and
    /// the descriptions of fields from its doc comments.
    #[must_use]
    pub fn tool<A, R>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl AsyncFn(A) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: IntoToolResult + 'static,
    {
        self.tool_with(name, description, async move |args: A, _| {
            handler(args).await
        })
    }

    /// Like [`tool`](Self::tool), for handlers that need the [`Context`].
    #[must_use]
    pub fn tool_with<A, R>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl AsyncFn(A, Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: IntoToolResult + 'static,
    {
        let name = name.into();
        let schema = arguments::schema_of::<A>().unwrap_or_else(|| {
            let tool = name.clone();
            self.mistake
                .get_or_insert(Mistake::ArgumentsNotAnObject { tool });
            Value::Null
        });
        self.tool_with_schema(name, description, schema, handler)
    }

    /// Like [`tool_with`](Self::tool_with), with a given schema.
    #[must_use]
    pub fn tool_with_schema<A, R>(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: impl AsyncFn(A, Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + 'static,
        R: IntoToolResult + 'static,
    {
        let name = name.into();
        self.refuse_twice("tool", &name, self.registry.tool(&name).is_some());
        let decoding = async move |args: RawJson, context| match arguments::decode(args.get()) {
            Ok(args) => handler(args, context).await.into_tool_result(),
            Err(error) => ToolResult::error(error),
        };
        self.registry.tools.push(Tool {
            schema,
            named: Named {
                name,
                description: description.into(),
                handler: erase(decoding, |result| result),
            },
        });
        self
    }

    /// Watches events; the type of the handler's first parameter selects the kind. The events of an
    /// extension are handled one after another, in order.
    #[must_use]
    pub fn on<E: Event, R: IntoOutcome + 'static>(
        mut self,
        handler: impl AsyncFn(E, Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let decoding = async move |event, context| match E::from_lifecycle(event) {
            Ok(event) => handler(event, context).await.into_outcome(),
            Err(error) => Err(failed(error)),
        };
        self.registry.events.push(EventHandler {
            kind: E::KIND,
            handler: erase(decoding, |outcome| outcome),
        });
        self
    }

    /// Decides about tool calls, including those of zot's own tools, before they run.
    ///
    /// Without a response within five seconds, the manifest's `on_failure` applies. If the handler
    /// fails, the policy of [`on_interceptor_failure`](Self::on_interceptor_failure) applies.
    #[must_use]
    pub fn intercept_tool_call<R: IntoVerdict + 'static>(
        self,
        handler: impl AsyncFn(ToolCall, Context) -> R + Send + Sync + 'static,
    ) -> Self {
        self.intercept(handler)
    }

    /// Decides whether a model call may begin.
    #[must_use]
    pub fn intercept_turn_start<R: IntoVerdict + 'static>(
        self,
        handler: impl AsyncFn(TurnStart, Context) -> R + Send + Sync + 'static,
    ) -> Self {
        self.intercept(handler)
    }

    /// Decides what the user sees of the model's messages.
    #[must_use]
    pub fn intercept_assistant_message<R: IntoVerdict + 'static>(
        self,
        handler: impl AsyncFn(AssistantMessage, Context) -> R + Send + Sync + 'static,
    ) -> Self {
        self.intercept(handler)
    }

    /// Sets what happens when an interceptor panics or fails, overriding the manifest's `on_failure`.
    /// Invalid arguments count as a failure, too. The user is notified of each.
    #[must_use]
    pub fn on_interceptor_failure(mut self, policy: OnFailure) -> Self {
        self.registry.on_failure = Some(policy);
        self
    }

    /// Makes zot hold back a message until the interceptor has decided about it.
    #[must_use]
    pub fn hold_text(mut self) -> Self {
        self.registry.hold_text = true;
        self
    }

    /// Handles the inputs of the panel with this id, in order. A command opens it with
    /// [`Response::open_panel`](crate::Response::open_panel).
    #[must_use]
    pub fn panel<R: IntoOutcome + 'static>(
        mut self,
        id: impl Into<String>,
        handler: impl AsyncFn(PanelInput, Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let id = id.into();
        self.refuse_twice("panel", &id, self.registry.panel(&id).is_some());
        let handler = erase(handler, R::into_outcome);
        self.registry.panels.push((id, handler));
        self
    }

    /// Sets a handler that is called before the extension ends, when all other handlers have been
    /// stopped. It may take 1.5 seconds.
    #[must_use]
    pub fn on_shutdown<R: IntoOutcome + 'static>(
        mut self,
        handler: impl AsyncFn(Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let ignoring = async move |(), context| handler(context).await;
        self.registry.shutdown = Some(erase(ignoring, R::into_outcome));
        self
    }

    /// Runs the extension until zot ends it, on its own runtime.
    pub fn run(self) -> Result {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::Runtime)?;
        let outcome = runtime.block_on(self.serve());
        // A thread that is stuck in blocking work must not keep the process alive.
        runtime.shutdown_background();
        outcome
    }

    /// Runs the extension until zot ends it, on the runtime of the caller.
    ///
    /// Takes over standard input and output: what is printed from now on goes to standard error.
    /// The future is not `Send`, because the futures of handlers need not be.
    pub async fn serve(self) -> Result {
        let (input, output) = stdio::take().map_err(Error::Streams)?;
        self.serve_on(input, output).await
    }

    /// Runs the extension on other streams than the standard ones.
    pub async fn serve_on(
        mut self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
    ) -> Result {
        if self.registry.hold_text && !self.registry.intercepts::<AssistantMessage>() {
            self.mistake.get_or_insert(Mistake::NothingToHoldTextFor);
        }
        if let Some(mistake) = self.mistake {
            return Err(mistake.into());
        }
        let serving = server::serve(self.registry, self.context, self.outgoing, input, output);
        LocalSet::new().run_until(serving).await
    }

    fn intercept<E: Event, R: IntoVerdict + 'static>(
        mut self,
        handler: impl AsyncFn(E, Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let known = self.registry.intercepts::<E>();
        self.refuse_twice("interceptor", E::KIND.as_str(), known);
        let decoding = async move |event, context| match E::from_lifecycle(event) {
            Ok(event) => handler(event, context).await.into_verdict(),
            Err(error) => Err(failed(error)),
        };
        self.registry.interceptors.push(Interceptor {
            kind: E::KIND,
            handler: erase(decoding, |verdict| verdict),
        });
        self
    }

    fn refuse_twice(&mut self, kind: &'static str, name: &str, known: bool) {
        if known {
            let name = name.to_owned();
            self.mistake.get_or_insert(Mistake::Twice { kind, name });
        }
    }
}
