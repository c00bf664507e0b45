//! The `zot` binary from the outside: recorded sessions of the original, then what the
//! specification asks for, theme by theme.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod aborting;
mod additions;
mod answers;
mod authentication;
mod command_line;
mod commands;
mod compaction;
mod completions;
mod configuration;
mod context;
mod doctor;
mod documents;
mod ending;
mod example_extensions;
mod examples;
mod ext_cli;
mod extensions;
mod extensions_hostile;
mod fallback;
mod hostile;
mod input;
mod jail;
mod live_models;
mod login;
mod pictures;
mod queueing;
mod recorded;
mod refused_images;
mod replay;
mod sessions;
mod support;
mod terminal;
mod terminal_editor;
mod terminal_panels;
mod terminal_restored;
mod tools;
