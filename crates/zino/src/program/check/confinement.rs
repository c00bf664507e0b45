//! Checks that the sandbox of `exc` keeps programs away from what the services use.

use super::{Findings, Verdict};
use crate::config::{Config, ExecutorSandbox};
use crate::executor::check_sandbox;
use crate::kind::ServiceKind;
use crate::logging::{Level, Log};

const SUBJECT: &str = "sandbox";

pub(super) fn check(config: &Config, findings: &mut Findings) {
    let has_sandbox = config.exc.sandbox != ExecutorSandbox::Off;
    if !has_sandbox || !config.services_here().contains(&ServiceKind::Executor) {
        return;
    }
    // Only files that cannot be read are logged, which are also reported with the tools.
    let log = Log::new(ServiceKind::Executor.name(), Level::Error);
    match check_sandbox(config, log) {
        Ok(warnings) => {
            for warning in warnings {
                findings.add(Verdict::Doubtful, SUBJECT, warning);
            }
        }
        Err(error) => findings.add(Verdict::Bad, SUBJECT, error.to_string()),
    }
}
