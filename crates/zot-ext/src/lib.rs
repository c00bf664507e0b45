//! Write extensions for zot: slash commands, tools for the model, guards, and panels.
//!
//! An extension is a program that zot starts. This is a whole one:
//!
//! ```no_run
//! use zot_ext::{Extension, Response};
//!
//! fn main() -> zot_ext::Result {
//!     Extension::new("hello", "1.0.0")
//!         .command("hello", "say hi", async |_args| Response::prompt("Greet me in one short sentence."))
//!         .run()
//! }
//! ```
//!
//! Build it, put an `extension.json` beside it, and run `zot --ext <directory>`:
//!
//! ```json
//! {"name": "hello", "version": "1.0.0", "exec": "./hello", "language": "rust"}
//! ```
//!
//! # Tools
//!
//! The type of the argument is the schema that the model sees, and its doc comments are the
//! descriptions (`serde` and `schemars` have to be among your dependencies). What a tool returns
//! is text, JSON, a [`ToolResult`] with images, or a `Result` of one of them. Arguments that do
//! not fit are refused for you, with an error that names the field.
//!
//! ```
//! # use zot_ext::{Extension, Level, testing::TestHost, json};
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct City {
//!     /// Which city
//!     city: String,
//! }
//!
//! let weather = Extension::new("weather", "1.0.0")
//!     .tool("weather", "Current weather for a city.", async |City { city }: City| {
//!         format!("{city}: sunny")
//!     })
//!     // With the context: notifications, panels, what is known of the host.
//!     .command_with("model", "which model is in use", async |_args, context| {
//!         context.notify(Level::Info, format!("this is {}", context.host().model));
//!     });
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//!
//! // Tests need neither zot nor a process:
//! let host = TestHost::start(weather).await?;
//! let result = host.call_tool("weather", json!({"city": "Berlin"})).await?;
//! assert_eq!(result.to_text(), "Berlin: sunny");
//! host.invoke("model", "").await?;
//! assert_eq!(host.notifications()[0].message, "this is test-model");
//! # host.shutdown().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).map_err(|error| error.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Events and guards
//!
//! The type of the parameter selects the kind of event: [`SessionStart`], [`TurnStart`],
//! [`TurnEnd`], [`ToolCall`] or [`AssistantMessage`]. Interceptors are asked beforehand, and
//! decide with a [`Verdict`].
//!
//! ```no_run
//! # use zot_ext::{Extension, Level, TurnEnd, Verdict};
//! # fn main() -> zot_ext::Result {
//! Extension::new("guard", "1.0.0")
//!     .on(async |turn: TurnEnd, context| context.notify(Level::Info, turn.stop))
//!     .intercept_tool_call(async |call, _context| match call.args["command"].as_str() {
//!         Some(command) if command.contains("rm -rf") => Verdict::block("refused: rm -rf"),
//!         _ => Verdict::allow(),
//!     })
//!     .run()
//! # }
//! ```
//!
//! When an interceptor fails, the user is notified and the manifest's `on_failure` applies: `"block"`,
//! or `"allow"` by default. [`on_interceptor_failure`](Extension::on_interceptor_failure) overrides it
//! in the program.
//!
//! # Panels
//!
//! A command opens a panel, and its keys go to the handler for its id.
//!
//! ```no_run
//! # use zot_ext::{Extension, Panel, PanelInput, Response};
//! # fn main() -> zot_ext::Result {
//! Extension::new("todo", "1.0.0")
//!     .command("todo", "show what is to do", async |_args| {
//!         Response::open_panel(Panel::new("todo").title("To do").line("sleep").footer("esc closes"))
//!     })
//!     .panel("todo", async |input, context| match input {
//!         PanelInput::Key { key, .. } if key == "enter" => context.close_panel("todo"),
//!         PanelInput::Key { text, .. } => context.render_panel(&Panel::new("todo").line(text)),
//!         _ => {}
//!     })
//!     .run()
//! # }
//! ```
//!
//! # What to know
//!
//! - Handlers run concurrently on one thread. Use async libraries, or [`blocking`].
//! - Handlers are shared, so keep mutable state in a `Mutex` or an atomic.
//! - Events are handled one after another, and so are the inputs of panels.
//! - A handler that panics or fails responds with an error, and the extension keeps running. An
//!   interceptor cannot respond with an error: see [`OnFailure`].
//! - `println!` is safe: standard output belongs to the protocol, and what is printed goes to the
//!   log, as does standard error (`zot ext logs <name>`).
//! - When zot ends, handlers are stopped and [`on_shutdown`](Extension::on_shutdown) is called.
//!   Keep persistent data in the directory [`HelloAck::data_dir`].

mod blocking;
mod context;
mod error;
mod event;
mod extension;
mod handler;
mod on_failure;
mod outbox;
mod panel;
mod registry;
mod response;
mod server;
mod stdio;
pub mod testing;
mod tool;
mod verdict;

pub use blocking::blocking;
pub use context::{Context, Level};
pub use error::{Error, Mistake, Result};
pub use event::{AssistantMessage, Event, SessionStart, ToolCall, TurnEnd, TurnStart};
pub use extension::Extension;
pub use handler::IntoOutcome;
pub use on_failure::OnFailure;
pub use panel::{Panel, PanelInput};
pub use response::{IntoResponse, Response};
pub use tool::{IntoToolResult, ToolResult};
pub use verdict::{IntoVerdict, Verdict};
pub use zot_wire::arguments::NoArguments;

/// The versions that the types of this crate use.
pub use {schemars, serde, serde_json};

pub use serde_json::{Value, json};
pub use zot_wire::extension::{
    CommandAction, EventKind, ExtensionFrame, HelloAck, HostFrame, LifecycleEvent, PanelContent,
    PanelSpec, ResultBlock, Subscription,
};
