//! The terminal: a chat with the agent that streams into the terminal's own scrollback.
//!
//! State and view are pure: [`app`] decides what happens and what is shown, [`renderer`] turns that
//! into bytes, [`run`] is the only part that touches the terminal and the agent.

pub mod app;
pub mod editor;
pub mod highlight;
pub mod markdown;
pub mod picture;
pub mod renderer;
mod run;
pub mod style;
mod terminal;
pub mod text;
mod view;

pub use run::{Carried, Ending, Options, Watch, run};
