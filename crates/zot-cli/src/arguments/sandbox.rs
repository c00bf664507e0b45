//! The flags about the sandbox.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser as _};
use zot_sdk::SandboxChoice;
use zot_sdk::configuration::{Item, MIN_OPEN_FILES};
use zot_sdk::sandbox::{ConnectRule, Level, Limits, Rules};

use super::heading;

#[derive(Args)]
#[command(next_help_heading = heading::SANDBOX)]
pub(crate) struct SandboxArguments {
    /// What read, write, edit and bash may do: off (what you may do), workspace (change only the working
    /// directory, no network) or read-only; extensions and MCP servers have settings of their own
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = PossibleValuesParser::new(Level::ALL.map(Level::name)).try_map(|name| name.parse::<Level>()),
        help_heading = heading::COMMON,
        display_order = 9
    )]
    sandbox: Option<Level>,
    /// Let them read this file or directory as well (repeatable, like those below)
    #[arg(long, value_name = "PATH")]
    sandbox_read: Vec<PathBuf>,
    /// Let them change this file or directory as well
    #[arg(long, value_name = "PATH")]
    sandbox_write: Vec<PathBuf>,
    /// Let commands start only this program
    #[arg(long, value_name = "PROGRAM")]
    sandbox_run: Vec<PathBuf>,
    /// Let commands connect to this host: host:port, host (ports 80 and 443), *.domain, or * for all
    #[arg(long, value_name = "HOST:PORT", value_parser = host)]
    sandbox_connect: Vec<ConnectRule>,
    /// Let commands connect to this Unix socket
    #[arg(long, value_name = "PATH")]
    sandbox_unix_socket: Vec<PathBuf>,
    /// Give commands this variable, which the sandbox withholds; PREFIX_* means all that begin so
    #[arg(long, value_name = "NAME", value_parser = variable)]
    sandbox_env: Vec<String>,
    /// Limit the memory of each process of a command
    #[arg(long, value_name = "MIB", value_parser = limit(1))]
    sandbox_memory_mib: Option<u64>,
    /// Limit how many processes and threads run at a time: those of the session's commands; at off, and where
    /// namespaces are denied, all of your user's
    #[arg(long, value_name = "N", value_parser = limit(1))]
    sandbox_processes: Option<u64>,
    /// Limit the processor time of each process of a command
    #[arg(long, value_name = "SECONDS", value_parser = limit(1))]
    sandbox_processor_seconds: Option<u64>,
    /// Limit the open files of each process of a command
    #[arg(long, value_name = "N", value_parser = limit(MIN_OPEN_FILES))]
    sandbox_open_files: Option<u64>,
}

impl From<SandboxArguments> for SandboxChoice {
    fn from(arguments: SandboxArguments) -> Self {
        let run = arguments.sandbox_run;
        Self {
            level: arguments.sandbox,
            rules: Rules {
                read: arguments.sandbox_read,
                write: arguments.sandbox_write,
                run: (!run.is_empty()).then_some(run),
                connect: arguments.sandbox_connect,
                unix_sockets: arguments.sandbox_unix_socket,
                environment: arguments.sandbox_env,
                limits: Limits {
                    memory_bytes: arguments
                        .sandbox_memory_mib
                        .map(|mib| mib.saturating_mul(1 << 20)),
                    processes: arguments.sandbox_processes,
                    processor_seconds: arguments.sandbox_processor_seconds,
                    open_files: arguments.sandbox_open_files,
                },
                ..Rules::default()
            },
            is_fixed: false,
        }
    }
}

fn limit(least: u64) -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(least..=u64::from(u32::MAX))
}

fn host(text: &str) -> Result<ConnectRule, String> {
    text.parse()
        .map_err(|problem: zot_sdk::sandbox::BadHost| problem.to_string())
}

fn variable(text: &str) -> Result<String, String> {
    Item::Variable.check(text).map(|()| text.to_owned())
}
