//! The command line of `zino`.

mod attach;

use std::ffi::OsString;
#[cfg(feature = "nats")]
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use zino::config::network::DEFAULT_NAMESPACE;
use zino::kind::ServiceKind;
#[cfg(feature = "nats")]
use zino::program::bus::{Process, Role};
use zino::program::store::StoreCommand;

pub(crate) use attach::Attach;

const DEFAULT_CERTS_DIRECTORY: &str = "certs";

/// How long a certificate is valid unless it is said otherwise.
const DEFAULT_DAYS: u32 = 365;

/// An agent as services on Unix sockets.
#[derive(Parser)]
#[command(
    name = "zino",
    version = env!("ZOT_BUILD_VERSION"),
    // `zino-mem --version` works like `zino --version`.
    propagate_version = true,
    after_help = "Without a key: zino init && zino up, and in another terminal: zino cli \"list the files here\"\n\
                  Exit codes: 0 done, 1 failed, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args)]
pub(crate) struct ConfigArgument {
    /// The configuration (default: $ZINO_CONFIG, then ZINO.toml)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write a configuration, a prompt, tools and skills, ready to use
    Init {
        /// Target directory
        #[arg(default_value = ".")]
        directory: PathBuf,
    },
    /// Run the services of this machine in one process: all that are in [listen] or not in [peers]
    Up(Up),
    /// Show which services respond, and the instances on the bus
    Status(StatusArguments),
    /// Print what happens on the bus as records, for glasspane serve --run "zino events"
    Events(ConfigArgument),
    /// Check the configuration and the environment
    Check(ConfigArgument),
    /// Manage the database of the memory service
    Store(Store),
    /// List the sessions of agents in the database
    Sessions(ConfigArgument),
    /// Send a message to the daemon. Piped input is appended to the message if it starts within a
    /// second; `-` waits for it
    Cli(Cli),
    /// Run the coordinator
    Daemon(ConfigArgument),
    /// Run the router, which calls the model
    Rtr(ConfigArgument),
    /// Run the loop of model responses and tool calls
    Agr(ConfigArgument),
    /// Run the system prompt service
    Sys(ConfigArgument),
    /// Run the code executor
    Exc(ConfigArgument),
    /// Run the memory service
    Mem(Mem),
    /// Run the context service
    Ctx(ConfigArgument),
    /// Prepare a NATS server as the bus between several machines
    #[cfg(feature = "nats")]
    #[command(subcommand)]
    Bus(Bus),
    /// Run sessions of zot for clients on the bus
    Agent(Agent),
    /// Attach to a session that a worker runs: a program that speaks `zot rpc` on standard input and
    /// output, as clients start one
    #[command(visible_alias = "rpc")]
    Attach(Attach),
    /// Make and show certificates, for services on several machines
    #[command(subcommand)]
    Certs(Certs),
}

#[cfg(feature = "nats")]
#[derive(Subcommand)]
pub(crate) enum Bus {
    /// Write a configuration for nats-server, and a key for each kind of process: `node` (all services),
    /// `agent`, `client` and `watch`
    Init(BusInit),
}

#[cfg(feature = "nats")]
#[derive(Args)]
pub(crate) struct BusInit {
    /// Target directory
    #[arg(default_value = "bus")]
    pub(crate) directory: PathBuf,
    /// Where the server listens; other machines can only reach it at another address than a loopback one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4222")]
    pub(crate) listen: SocketAddr,
    /// The [bus] namespace
    #[arg(long, default_value = DEFAULT_NAMESPACE)]
    pub(crate) namespace: String,
    /// Instead of `node`: a process that runs exactly these services (repeatable)
    #[arg(long = "process", value_name = "NAME=SERVICE,...", value_parser = parse_process)]
    pub(crate) processes: Vec<Process>,
}

#[derive(Subcommand)]
pub(crate) enum Certs {
    /// Make a private authority: ca.pem for every machine, and ca.key, which stays on this one
    Init {
        /// Target directory
        #[arg(default_value = DEFAULT_CERTS_DIRECTORY)]
        directory: PathBuf,
    },
    /// Issue a certificate for a machine or a client
    Issue(Issue),
    /// Show names, issuer, expiry and fingerprint, and what is wrong
    Show {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

#[derive(Args)]
pub(crate) struct Issue {
    /// The names of the files; without --for also the names in the certificates
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// The services that run on the machine, or `client`
    #[arg(long = "for", value_name = "SERVICE,...", value_delimiter = ',')]
    pub(crate) services: Vec<String>,
    /// Instead: the names and addresses of a NATS or PostgreSQL server
    #[arg(
        long = "host",
        value_name = "HOST,...",
        value_delimiter = ',',
        conflicts_with = "services"
    )]
    pub(crate) hosts: Vec<String>,
    /// How long it is valid
    #[arg(long, default_value_t = DEFAULT_DAYS)]
    pub(crate) days: u32,
    /// The [tls] namespace of the machines
    #[arg(long, default_value = DEFAULT_NAMESPACE)]
    pub(crate) namespace: String,
    /// The directory of the authority
    #[arg(long, value_name = "DIR", default_value = DEFAULT_CERTS_DIRECTORY)]
    pub(crate) dir: PathBuf,
}

#[derive(Args)]
pub(crate) struct Up {
    /// Run exactly these services
    #[arg(long, value_name = "SERVICE,...", value_delimiter = ',', value_parser = parse_service)]
    pub(crate) only: Vec<ServiceKind>,
    #[command(flatten)]
    pub(crate) config: ConfigArgument,
}

#[derive(Args)]
pub(crate) struct Agent {
    /// Serve these profiles, [agents.NAME] in the configuration (default: all)
    #[arg(long = "profile", value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) profiles: Vec<String>,
    #[command(flatten)]
    pub(crate) config: ConfigArgument,
}

#[derive(Args)]
pub(crate) struct StatusArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgument,
}

#[derive(Args)]
pub(crate) struct Mem {
    /// Only repair files that a killed process left truncated, then exit
    #[arg(long)]
    pub(crate) mend: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgument,
}

#[derive(Args)]
pub(crate) struct Store {
    #[command(flatten)]
    pub(crate) config: ConfigArgument,
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Args)]
pub(crate) struct Cli {
    /// Print the answer as it arrives
    #[arg(long, short)]
    pub(crate) stream: bool,
    /// The conversation to continue; `-ch` works too
    #[arg(long, value_name = "ID")]
    pub(crate) channel: Option<String>,
    /// Do not read standard input, for example inside a `while read` loop
    #[arg(long, short)]
    pub(crate) no_stdin: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgument,
    #[arg(value_name = "MESSAGE")]
    pub(crate) words: Vec<String>,
}

/// Turns `zino-mem …` into `zino mem …`, but leaves `zino-0.1` alone, and the `-ch` of the original's
/// client into `--channel`.
pub(crate) fn as_called(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments
        .first()
        .and_then(|program| {
            Path::new(program)
                .file_name()?
                .to_str()?
                .strip_prefix("zino-")
        })
        .filter(|name| Arguments::command().find_subcommand(name).is_some())
        .map(OsString::from);
    if let Some(name) = name {
        arguments.splice(..1, [OsString::from("zino"), name]);
    }
    for argument in &mut arguments {
        if argument == "-ch" {
            *argument = OsString::from("--channel");
        }
    }
    arguments
}

#[cfg(feature = "nats")]
fn parse_process(text: &str) -> Result<Process, String> {
    let (name, services) = match text.split_once('=') {
        Some((name, services)) => (name, services),
        None => (text, text),
    };
    let services: Result<Vec<ServiceKind>, String> =
        services.split(',').map(parse_service).collect();
    Ok(Process {
        name: name.to_owned(),
        role: Role::Services(services?),
    })
}

fn parse_service(name: &str) -> Result<ServiceKind, String> {
    let known = || {
        let names = ServiceKind::ALL.map(ServiceKind::name).join(", ");
        format!("unknown service: expected one of {names}")
    };
    ServiceKind::named(name).ok_or_else(known)
}
