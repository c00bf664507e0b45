//! Checks `[listen]`, `[peers]` and `[tls]`.

use std::path::Path;

use jiff::Timestamp;

use super::{Findings, Verdict};
use crate::config::Config;
use crate::config::address::{Address, Security};
use crate::config::network::TlsFiles;
use crate::kind::ServiceKind;
use crate::network::certificate::date;
use crate::network::identity::{Identity, IdentityError, read_certificates};
use crate::program::certs::{inspect_one, is_issued_by};

pub(super) fn check(config: &Config, findings: &mut Findings) {
    for kind in ServiceKind::ALL {
        check_addresses(config, kind, findings);
    }
    let Some(files) = config.tls.files().filter(|_| config.uses_tls()) else {
        return;
    };
    if let Err(error) = check_files(config, files, findings) {
        findings.add(Verdict::Bad, "tls", error.to_string());
    }
}

fn check_addresses(config: &Config, kind: ServiceKind, findings: &mut Findings) {
    if let Some(address) = config.listen_address(kind) {
        let message = format!("listens on {address}");
        match address.security {
            Security::Tls => findings.add(Verdict::Good, kind.name(), message),
            Security::Loopback => findings.add(
                Verdict::Doubtful,
                kind.name(),
                format!("{message}: every user of this machine can call it"),
            ),
        }
    }
    if let Some(addresses) = config.peer_addresses(kind) {
        let addresses: Vec<String> = addresses.iter().map(Address::to_string).collect();
        let message = format!("is called at {}", addresses.join(", "));
        findings.add(Verdict::Good, kind.name(), message);
    }
}

fn check_files(
    config: &Config,
    files: TlsFiles<'_>,
    findings: &mut Findings,
) -> Result<(), IdentityError> {
    let identity = Identity::read(files)?;
    let inspection = inspect_one(identity.certificate.clone(), Timestamp::now());
    let path = files.certificate.display();
    for problem in &inspection.problems {
        findings.add(Verdict::Bad, "tls", format!("{path}: {problem}"));
    }
    for warning in &inspection.warnings {
        findings.add(Verdict::Doubtful, "tls", format!("{path}: {warning}"));
    }
    check_issuer(files, &identity, findings)?;
    check_names(
        config,
        files.certificate,
        &identity.certificate.names,
        findings,
    );
    let message = format!(
        "{path}: {}, valid until {}",
        identity.certificate.names.join(", "),
        date(identity.certificate.not_after)
    );
    findings.add(Verdict::Good, "tls", message);
    Ok(())
}

fn check_issuer(
    files: TlsFiles<'_>,
    identity: &Identity,
    findings: &mut Findings,
) -> Result<(), IdentityError> {
    let own = read_certificates(files.certificate)?;
    let authorities = read_certificates(files.ca)?;
    let is_issued = own
        .first()
        .is_some_and(|own| is_issued_by(own, &authorities, &identity.certificate));
    if !is_issued {
        let message = format!(
            "{} has not issued {}: others with the same authority will refuse it",
            files.ca.display(),
            files.certificate.display()
        );
        findings.add(Verdict::Bad, "tls", message);
    }
    Ok(())
}

/// Checks that callers find the name of each service in the certificate, and services one that may call
/// them.
fn check_names(config: &Config, path: &Path, names: &[String], findings: &mut Findings) {
    for kind in ServiceKind::ALL {
        let listens = config.listen_address(kind);
        let name = config.tls.certificate_name(kind.name());
        if listens.is_some_and(|address| address.security == Security::Tls)
            && !names.contains(&name)
        {
            let message = format!(
                "{} has no name {name}: callers of [listen] {} will refuse it",
                path.display(),
                kind.name()
            );
            findings.add(Verdict::Bad, "tls", message);
        }
        let calls = config.peer_addresses(kind).unwrap_or_default();
        let callers = config.callers(kind);
        if calls.iter().any(Address::is_tls) && !names.iter().any(|name| callers.contains(name)) {
            let message = format!(
                "{} has none of the names that may call {}: {}",
                path.display(),
                kind.name(),
                callers.join(", ")
            );
            findings.add(Verdict::Doubtful, "tls", message);
        }
    }
}
