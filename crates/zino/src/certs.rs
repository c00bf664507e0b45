//! `zino certs`: what it prints.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use zino::config::network::DEFAULT_NAMESPACE;
use zino::kind::ServiceKind;
use zino::network::certificate::date;
use zino::program::certs::{
    Inspection, IssueRequest, KEY_OF_AUTHORITY, WrittenPair, init, inspect, issue,
};

use crate::arguments::{Certs, Issue};

type Failure = String;

pub(crate) fn execute(command: Certs) -> Result<ExitCode, Failure> {
    let mut output = zot_terminal::stdout();
    match command {
        Certs::Init { directory } => make_authority(&directory, &mut output),
        Certs::Issue(arguments) => issue_all(arguments, &mut output),
        Certs::Show { files } => {
            let mut code = ExitCode::SUCCESS;
            for file in &files {
                if !show(file, &mut output) {
                    code = ExitCode::FAILURE;
                }
            }
            Ok(code)
        }
    }
}

fn make_authority(directory: &Path, output: &mut impl Write) -> Result<ExitCode, Failure> {
    let written = init(directory).map_err(|error| error.to_string())?;
    let dir_option = match directory == Path::new("certs") {
        true => String::new(),
        false => format!(" --dir {}", directory.display()),
    };
    let services = ServiceKind::ALL.map(ServiceKind::name).join(",");
    let _ = write!(
        output,
        "wrote {}: the authority, valid until {}; every machine needs a copy\n\
         wrote {}: its key; keep it here: with it, anyone can pose as any service\n\
         now: zino certs issue node-1 --for {services}{dir_option}\n     \
         zino certs issue client{dir_option}\n",
        written.certificate.display(),
        written.expires,
        written.key.display(),
    );
    Ok(ExitCode::SUCCESS)
}

fn issue_all(arguments: Issue, output: &mut impl Write) -> Result<ExitCode, Failure> {
    let request = IssueRequest {
        names: arguments.names,
        services: arguments.services,
        hosts: arguments.hosts,
        days: arguments.days,
        namespace: arguments.namespace,
    };
    let issued = issue(&arguments.dir, &request).map_err(|error| error.to_string())?;
    for (name, pair) in request.names.iter().zip(&issued) {
        let _ = writeln!(
            output,
            "wrote {}: {}, valid until {}\nwrote {}",
            pair.certificate.display(),
            pair.names.join(", "),
            pair.expires,
            pair.key.display(),
        );
        let is_known = |name: &str| name == "client" || ServiceKind::named(name).is_some();
        if request.services.is_empty() && request.hosts.is_empty() && !is_known(name) {
            let _ = writeln!(
                output,
                "note: {name:?} is neither a service nor \"client\": name services with --for, or let \
                 it call with [allow] SERVICE = [\"{name}\"]"
            );
        }
    }
    if !request.hosts.is_empty() {
        let authority = arguments.dir.join("ca.pem");
        let _ = writeln!(
            output,
            "\nCopy certificate and key to the server. Its callers trust it with [bus] or [store] ca = {:?}",
            authority.display().to_string()
        );
        return Ok(ExitCode::SUCCESS);
    }
    for pair in &issued {
        write_next_step(&arguments.dir, &request.namespace, pair, output);
    }
    Ok(ExitCode::SUCCESS)
}

fn write_next_step(directory: &Path, namespace: &str, pair: &WrittenPair, output: &mut impl Write) {
    let authority = directory.join("ca.pem");
    let namespace = match namespace == DEFAULT_NAMESPACE {
        true => String::new(),
        false => format!("namespace = {namespace:?}\n"),
    };
    let _ = write!(
        output,
        "\nCopy {ca}, {certificate} and {key} to the machine ({KEY_OF_AUTHORITY} stays here), with these \
         lines in its ZINO.toml:\n[tls]\nca = {ca:?}\ncertificate = {certificate:?}\nkey = {key:?}\n\
         {namespace}",
        ca = authority.display().to_string(),
        certificate = pair.certificate.display().to_string(),
        key = pair.key.display().to_string(),
    );
}

/// Prints the certificates of a file; `false` if something is wrong with it.
fn show(file: &Path, output: &mut impl Write) -> bool {
    let inspections = match inspect(file) {
        Ok(inspections) => inspections,
        Err(error) => {
            let _ = writeln!(output, "{}\n  WRONG        {error}", file.display());
            return false;
        }
    };
    let mut all_well = true;
    for Inspection {
        certificate,
        is_authority,
        days_left,
        problems,
        warnings,
    } in inspections
    {
        let names = match certificate.names.as_slice() {
            [] if is_authority => format!("{} (an authority)", certificate.subject),
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let _ = writeln!(
            output,
            "{}\n  names        {names}\n  issued by    {}\n  valid        {} to {}, {} days left\n  \
             fingerprint  sha256:{}",
            file.display(),
            certificate.issuer,
            date(certificate.not_before),
            date(certificate.not_after),
            days_left.max(0),
            certificate.fingerprint,
        );
        for problem in &problems {
            let _ = writeln!(output, "  WRONG        {problem}");
        }
        for warning in &warnings {
            let _ = writeln!(output, "  note         {warning}");
        }
        all_well &= problems.is_empty();
    }
    all_well
}
