//! The `zino` binary: arguments, output and exit codes.

mod arguments;
#[cfg(feature = "nats")]
mod bus_files;
mod certs;
mod sessions;

use std::env;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use arguments::{Arguments, Cli, Command, ConfigArgument, StatusArguments, Store, as_called};
use clap::Parser as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zino::bus::Bus;
use zino::config::{Config, ConfigError, Loaded};
use zino::kind::ServiceKind;
use zino::logging::{Level, Log};
use zino::memory::{TornFiles, repair_files};
use zino::network::identity::LiveIdentity;
use zino::peer::Peer;
use zino::program::check::{Finding, Verdict, check};
use zino::program::client::{ClientError, ClientRequest, Printed, ask};
use zino::program::events::events;
use zino::program::init::{Written, init};
use zino::program::run::{config_path, run};
use zino::program::status::status;
use zino::program::store;
use zot_wire::MAX_FRAME_BYTES;
use zot_wire::zino::daemon;

/// How long to wait for piped input when there already is a message: a parent process often leaves the
/// standard input of its children open without ever writing to it.
///
/// Limit: a silent pipe is ignored.
const PIPED_INPUT_TIMEOUT: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// An error message for the user.
type Failure = String;

fn main() -> ExitCode {
    zot_process::forbid_dumps();
    let arguments = match Arguments::try_parse_from(as_called(env::args_os().collect())) {
        Ok(arguments) => arguments,
        Err(error) => {
            let text = error.render().to_string();
            // It repeats words of the command line, which may be file names.
            let _ = match error.use_stderr() {
                true => zot_terminal::stderr().write_all(text.as_bytes()),
                false => zot_terminal::stdout().write_all(text.as_bytes()),
            };
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match execute(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            let _ = writeln!(zot_terminal::stderr(), "zino: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Init { directory } => write_files(&directory),
        Command::Up(up) => serve(up.config, Services::Here(up.only)),
        Command::Status(arguments) => show_status(arguments),
        Command::Events(config) => print_events(config),
        Command::Check(config) => show_check(config),
        Command::Store(store) => run_store(store),
        Command::Sessions(config) => sessions::list(config),
        Command::Cli(cli) => ask_daemon(cli),
        Command::Daemon(config) => serve(config, Services::One(ServiceKind::Daemon)),
        Command::Rtr(config) => serve(config, Services::One(ServiceKind::Router)),
        Command::Agr(config) => serve(config, Services::One(ServiceKind::AgentLoop)),
        Command::Sys(config) => serve(config, Services::One(ServiceKind::SystemPrompt)),
        Command::Exc(config) => serve(config, Services::One(ServiceKind::Executor)),
        Command::Mem(mem) if mem.mend => repair(mem.config),
        Command::Mem(mem) => serve(mem.config, Services::One(ServiceKind::Memory)),
        #[cfg(feature = "nats")]
        Command::Bus(arguments::Bus::Init(arguments)) => bus_files::execute(arguments),
        Command::Agent(agent) => sessions::run_workers(agent),
        Command::Attach(attach) => sessions::attach_client(attach),
        Command::Certs(command) => certs::execute(command),
        Command::Ctx(config) => serve(config, Services::One(ServiceKind::Context)),
    }
}

fn load(argument: ConfigArgument) -> Result<Loaded, Failure> {
    Config::load(&config_path(argument.config)).map_err(|error| error.to_string())
}

/// Loads the configuration and prints its warnings.
fn load_and_warn(argument: ConfigArgument) -> Result<Config, Failure> {
    load(argument).map(warn)
}

fn load_identity(config: &Config) -> Result<Option<LiveIdentity>, Failure> {
    LiveIdentity::of(config).map_err(|error| format!("[tls]: {error}"))
}

fn warn(Loaded { config, warnings }: Loaded) -> Config {
    for warning in warnings {
        let _ = writeln!(zot_terminal::stderr(), "zino: warning: {warning}");
    }
    config
}

fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let output = runtime.block_on(work);
    // A name lookup that hangs on a blocking thread must not keep the process alive.
    runtime.shutdown_background();
    Ok(output)
}

/// Which services a process runs.
enum Services {
    One(ServiceKind),
    /// Those named, or else those of this machine.
    Here(Vec<ServiceKind>),
}

fn serve(argument: ConfigArgument, services: Services) -> Result<ExitCode, Failure> {
    let config = load_and_warn(argument)?;
    let kinds = match services {
        Services::One(kind) => vec![kind],
        Services::Here(named) if named.is_empty() => config.services_here(),
        Services::Here(named) => named,
    };
    if kinds.is_empty() {
        return Err(
            "every service is in [peers] and none in [listen]: there is nothing to run".to_owned(),
        );
    }
    block_on(run(&config, &kinds))?.map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn repair(argument: ConfigArgument) -> Result<ExitCode, Failure> {
    let config = load_and_warn(argument)?;
    let TornFiles { files, errors } = repair_files(&config);
    let mut output = zot_terminal::stdout();
    for file in &files {
        let _ = writeln!(output, "repaired {}", file.display());
    }
    for error in &errors {
        let _ = writeln!(zot_terminal::stderr(), "zino: not repaired: {error}");
    }
    if files.is_empty() && errors.is_empty() {
        let directory = config.mem.data_dir.display();
        let _ = writeln!(output, "nothing to repair in {directory}");
    }
    Ok(match errors.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn run_store(store: Store) -> Result<ExitCode, Failure> {
    let config = load_and_warn(store.config)?;
    let message =
        block_on(store::run(&config, store.command))?.map_err(|error| error.to_string())?;
    let _ = writeln!(zot_terminal::stdout(), "{message}");
    Ok(ExitCode::SUCCESS)
}

fn write_files(directory: &Path) -> Result<ExitCode, Failure> {
    let written = init(directory).map_err(|error| error.to_string())?;
    let mut output = zot_terminal::stdout();
    for file in written {
        let _ = match file {
            Written::New(path) => writeln!(output, "wrote {}", path.display()),
            Written::Kept(path) => writeln!(output, "kept  {}", path.display()),
        };
    }
    let _ = writeln!(output, "now: zino up");
    Ok(ExitCode::SUCCESS)
}

fn show_status(arguments: StatusArguments) -> Result<ExitCode, Failure> {
    let config = load_and_warn(arguments.config)?;
    let identity = load_identity(&config)?;
    let overview = block_on(status(&config, identity.as_ref()))?;
    let _ = match arguments.json {
        true => writeln!(zot_terminal::json_stdout(), "{}", overview.to_json()),
        false => write!(zot_terminal::stdout(), "{overview}"),
    };
    Ok(match overview.is_good() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn print_events(argument: ConfigArgument) -> Result<ExitCode, Failure> {
    let config = load_and_warn(argument)?;
    let printed = block_on(events(&config, &mut zot_terminal::json_stdout()))?;
    printed.map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn show_check(argument: ConfigArgument) -> Result<ExitCode, Failure> {
    let loaded = load(argument)?;
    let findings = block_on(check(&loaded))?;
    let mut output = zot_terminal::stdout();
    let mut code = ExitCode::SUCCESS;
    for Finding {
        verdict,
        subject,
        message,
    } in findings
    {
        let mark = match verdict {
            Verdict::Good => "ok  ",
            Verdict::Doubtful => "warn",
            Verdict::Bad => {
                code = ExitCode::FAILURE;
                "FAIL"
            }
        };
        let _ = writeln!(output, "{mark} {subject:<8} {message}");
    }
    Ok(code)
}

fn has_input_within(input: &io::Stdin, timeout: Timespec) -> bool {
    let mut descriptors = [PollFd::new(input, PollFlags::IN)];
    // Reading reports what is wrong with a stream that cannot be polled.
    poll(&mut descriptors, Some(&timeout)).map_or(true, |ready| ready > 0)
}

/// The daemon where the configuration says it is, and the bus if it is there.
async fn reach_daemon(
    config: &Config,
    identity: Option<&LiveIdentity>,
) -> Result<(Peer<daemon::Request>, Option<Bus>), Failure> {
    let kind = ServiceKind::Daemon;
    let log = Log::new("bus", config.log_level().max(Level::Warning));
    let bus = match config.peer_addresses(kind) {
        Some(_) => None,
        None => Bus::connect(config, "client", log)
            .await
            .map_err(|error| error.to_string())?,
    };
    let peer = Peer::configured(config, kind, identity, bus.as_ref());
    Ok((peer, bus))
}

fn ask_daemon(cli: Cli) -> Result<ExitCode, Failure> {
    // Without a message, waits for piped input however long it takes.
    let (dashes, words): (Vec<_>, Vec<_>) = cli.words.into_iter().partition(|word| word == "-");
    let mut message = words.join(" ");
    let input = io::stdin();
    let expects_input = !dashes.is_empty()
        || !cli.no_stdin
            && !input.is_terminal()
            && (message.is_empty() || has_input_within(&input, PIPED_INPUT_TIMEOUT));
    if expects_input {
        let mut piped = String::new();
        let read = input
            .lock()
            .take(MAX_FRAME_BYTES as u64 + 1)
            .read_to_string(&mut piped)
            .map_err(|error| format!("cannot read standard input: {error}"))?;
        if read > MAX_FRAME_BYTES {
            return Err(format!(
                "standard input is longer than {MAX_FRAME_BYTES} bytes"
            ));
        }
        if !piped.trim().is_empty() {
            if !message.is_empty() {
                message.push_str("\n\n");
            }
            message.push_str(&piped);
        }
    }
    if message.trim().is_empty() {
        let _ = writeln!(
            zot_terminal::stderr(),
            "zino: no message: give it as an argument or pipe it in"
        );
        return Ok(ExitCode::from(2));
    }
    // The client needs no configuration: like the original's it then uses the default socket.
    let path = config_path(cli.config.config);
    let (config, is_missing) = match Config::load(&path) {
        Ok(loaded) => (warn(loaded), false),
        Err(ConfigError::Missing(_)) => (Config::default(), true),
        Err(error) => return Err(error.to_string()),
    };
    let identity = load_identity(&config)?;
    let request = ClientRequest {
        message,
        channel: cli.channel,
        stream: cli.stream,
    };
    let asked = async {
        let (daemon, _bus) = reach_daemon(&config, identity.as_ref()).await?;
        Ok::<_, Failure>(ask(&daemon, request, &mut zot_terminal::stdout()).await)
    };
    match block_on(asked)?? {
        Ok(Printed { unsaved }) => {
            if let Some(reason) = unsaved {
                let _ = writeln!(zot_terminal::stderr(), "zino: not saved: {reason}");
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(ClientError::Refused(text)) => {
            let _ = writeln!(zot_terminal::stderr(), "{text}");
            Ok(ExitCode::FAILURE)
        }
        Err(error @ ClientError::Unreachable(_)) if is_missing => Err(format!(
            "{error} There is no configuration at {}, so {} was tried.",
            path.display(),
            config.socket(ServiceKind::Daemon).display()
        )),
        Err(error) => Err(error.to_string()),
    }
}
