//! `zino bus`: what it prints.

use std::io::Write as _;
use std::process::ExitCode;

use zino::config::network::DEFAULT_NAMESPACE;
use zino::kind::ServiceKind;
use zino::program::bus::{InitRequest, Process, Role, init};

use crate::arguments::BusInit;

type Failure = String;

pub(crate) fn execute(arguments: BusInit) -> Result<ExitCode, Failure> {
    let process = |name: &str, role| Process {
        name: name.to_owned(),
        role,
    };
    let mut processes = arguments.processes;
    if processes.is_empty() {
        processes.push(process("node", Role::Services(ServiceKind::ALL.to_vec())));
    }
    processes.push(process("agent", Role::Agent));
    processes.push(process("client", Role::Client));
    processes.push(process("watch", Role::Watcher));
    let request = InitRequest {
        processes,
        namespace: arguments.namespace,
        listen: arguments.listen,
    };
    let files = init(&arguments.directory, &request).map_err(|error| error.to_string())?;
    let mut output = zot_terminal::stdout();
    let _ = writeln!(
        output,
        "wrote {}: for the NATS server",
        files.server.display()
    );
    for (process, key) in request.processes.iter().zip(&files.keys) {
        let owner = match &process.role {
            Role::Services(kinds) => {
                let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
                format!("the key of {}", names.join(", "))
            }
            Role::Agent => "the key of `zino agent`".to_owned(),
            Role::Client => "the key of `zino cli` and `zino attach`".to_owned(),
            Role::Watcher => "the key of `zino events` and `zino status`".to_owned(),
        };
        let _ = writeln!(output, "wrote {}: {owner}", key.display());
    }
    let directory = arguments.directory.display();
    if files.needs_certificate {
        let _ = writeln!(
            output,
            "now: zino certs issue nats --host HOST, and copy certs/nats.pem and certs/nats.key to {directory}"
        );
    }
    let (first, key) = match (request.processes.first(), files.keys.first()) {
        (Some(first), Some(key)) => (first.name.as_str(), key.display().to_string()),
        _ => return Ok(ExitCode::SUCCESS),
    };
    let url = match files.needs_certificate {
        true => format!("tls://HOST:{}", request.listen.port()),
        false => format!("nats://{}", request.listen),
    };
    let _ = write!(
        output,
        "now: (cd {directory} && nats-server -c nats-server.conf)\n\nCopy each key to where it is used, with \
         these lines in ZINO.toml:\n[bus]\nurl = {url:?}\nnkey = {key:?}\nidentity = {first:?}\n"
    );
    if files.needs_certificate {
        let _ = writeln!(output, "ca = \"certs/ca.pem\"");
    }
    if request.namespace != DEFAULT_NAMESPACE {
        let _ = writeln!(output, "namespace = {:?}", request.namespace);
    }
    Ok(ExitCode::SUCCESS)
}
