//! The recorded sessions, one test each. `UPDATE_FIXTURES=1` rewrites the `.ours.jsonl` files.

mod command_line;
mod extensions;
mod racy;
mod steady;

use testkit::{Fixtures, ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

fn fixtures() -> Fixtures {
    let crate_directory = env!("CARGO_MANIFEST_DIR");
    Fixtures::new(format!("{crate_directory}/tests/fixtures/rpc"))
}

/// Declares a test for each recording, which runs it by `$run`, and lists their names.
macro_rules! recordings {
    ($run:path: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $run(stringify!($name));
            }
        )*

        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}
use recordings;

/// The command line a recording of `zot rpc` was made with.
fn rpc_command(workdir: &Workdir, server: &ModelServer) -> ZotCommand {
    let name = workdir.name();
    if name == "ollama" {
        return ZotCommand::new(binary(), workdir)
            .arguments(["rpc", "--provider", "ollama", "--base-url"])
            .argument(server.url(Wire::OpenAi))
            .arguments(["--api-key", "x", "--model", "llama3", "--cwd"])
            .argument(workdir.path());
    }
    let wire = if name.ends_with("_anthropic") {
        Wire::Anthropic
    } else {
        Wire::OpenAi
    };
    let command = ZotCommand::rpc(binary(), workdir, server, wire);
    match name {
        "max_steps" => command.arguments(["--max-steps", "2"]),
        "system_prompt" => command
            .arguments(["--system-prompt", "SYS", "--append-system-prompt", "APP1"])
            .arguments(["--append-system-prompt", "APP2", "--reasoning", "high"]),
        "token_good" | "token_bad" => command.env("ZOTCORE_RPC_TOKEN", "s3cret"),
        _ => command,
    }
}

#[test]
fn every_recording_is_replayed() {
    let mut replayed = [steady::NAMES, racy::NAMES, command_line::NAMES].concat();
    replayed.sort_unstable();
    assert_eq!(replayed, fixtures().names());
}

#[test]
fn every_deviation_says_why() {
    assert_eq!(fixtures().problems(), Vec::<String>::new());
}
