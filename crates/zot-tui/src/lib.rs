//! A chat with the agent that streams into the terminal's own scrollback.
//!
//! State and view are pure: `app` decides what happens and what is shown, `renderer` turns that
//! into bytes, `run` is the only part that touches the terminal and the agent.

mod app;
mod editor;
mod highlight;
mod image;
mod key_prompt;
mod markdown;
mod pager;
mod renderer;
mod run;
mod style;
mod terminal;
mod text;
mod typed_secret;

pub use key_prompt::{Echo, KeyPrompt, KeyPromptEvent};
pub use run::{AttachedOutput, Ending, Inherited, Options, SavedModel, run};
pub use typed_secret::TypedSecret;
pub use zot_process::EndSignal;
