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
mod base_urls;
mod command_line;
mod commands;
mod compaction;
mod completions;
mod configuration;
mod confirmations;
mod context;
mod doctor;
mod documents;
mod ending;
mod escapes;
mod example_extensions;
mod examples;
mod ext_cli;
mod extensions;
mod extensions_hostile;
mod fallback;
mod flags;
mod function_order;
mod hostile;
mod images;
mod input;
mod isolation;
mod jail;
mod kept_for_the_provider;
mod leaving_readers;
mod live_models;
mod login;
mod models_of_ones_own;
mod openai_efforts;
mod openai_wires;
mod original_home;
mod preserved_thinking;
mod queueing;
mod recorded;
mod refused_images;
mod replay;
mod sessions;
mod special_files;
mod standard_input;
mod support;
mod terminal;
mod terminal_editor;
mod terminal_panels;
mod terminal_restored;
mod tools;
