//! Tests everything that an extension registers against a scripted host.

use std::path::Path;
use std::time::Duration;

use zot_extension_check::{ExaminationOptions, Finding, Verdict};

use crate::configuration::least_of_extensions;
use crate::known_secrets::launch_rules;
use crate::runtime::VERSION;
use crate::workspace::Workspace;

/// How many lines of standard error are kept; the first ones show the cause.
const MAX_KEPT_LOG_LINES: usize = 200;

/// The result of an examination.
#[derive(Debug, Clone, Default)]
pub struct ExaminationReport {
    /// The findings, in order.
    pub findings: Vec<Finding>,
    /// The beginning of the extension's standard error.
    pub log: Vec<String>,
}

/// Tests the extension in `directory`. Calls `found` with each finding immediately: a tool may take as
/// long as `tool_timeout`.
pub async fn examine(
    directory: &Path,
    tool_timeout: Duration,
    found: &mut (dyn FnMut(&Finding) + Send),
) -> ExaminationReport {
    let workspace = Workspace::of_process();
    let options = ExaminationOptions {
        zot_version: VERSION.to_owned(),
        tool_timeout,
        rules: launch_rules(&workspace.zot_home, least_of_extensions(&workspace)),
    };
    let mut report = ExaminationReport::default();
    let ExaminationReport { findings, log } = &mut report;
    let mut keep_finding = |finding: Finding| {
        found(&finding);
        findings.push(finding);
    };
    let mut keep_line = |line: &str| {
        if log.len() < MAX_KEPT_LOG_LINES {
            log.push(line.to_owned());
        }
    };
    zot_extension_check::examine(directory, &options, &mut keep_finding, &mut keep_line).await;
    report
}

impl ExaminationReport {
    /// Counts the findings with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.verdict == verdict)
            .count()
    }

    /// Returns whether nothing failed.
    pub fn passed(&self) -> bool {
        self.count(Verdict::Fail) == 0
    }
}
