//! The `zot` binary from the outside: recorded sessions of the original, and the
//! requirements of the specification by topic.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod aborting;
mod additions;
mod authentication;
mod base_urls;
mod closed_readers;
mod command_line;
mod commands;
mod compaction;
mod completions;
mod configuration;
mod confirmations;
mod context;
mod custom_models;
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
mod live_models;
mod login;
mod mcp;
mod mcp_cli;
mod mcp_serve;
mod mcp_user;
mod openai_efforts;
mod openai_wires;
mod original_home;
mod preserved_thinking;
mod provider_data;
mod queueing;
mod recorded;
mod refused_images;
mod replay;
mod responses;
mod sandbox;
mod sessions;
mod special_files;
mod standard_input;
mod support;
mod terminal;
mod terminal_editor;
mod terminal_panels;
mod terminal_restored;
mod tools;
