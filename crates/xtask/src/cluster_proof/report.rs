//! Figures beside their bars.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::ensure;

use super::Scale;
use crate::cluster::{Audit, Ledger, Node, Site};

/// Prints the figures of a proof as soon as they are known, and keeps those that miss their bar.
pub(super) struct Report {
    scale: Scale,
    name: &'static str,
    missed: Vec<String>,
}

impl Report {
    pub(super) fn new(scale: Scale, name: &'static str) -> Self {
        Self {
            scale,
            name,
            missed: Vec::new(),
        }
    }

    /// Notes what must be true in every run.
    pub(super) fn must(&mut self, what: &str, holds: bool) {
        self.verdict(what, if holds { "PASS" } else { "FAIL" });
    }

    /// Notes a time and its bar, which counts in long runs only.
    pub(super) fn time(&mut self, what: &str, value: Duration, bar: Duration) {
        let what = format!("{what}: {} (≤ {})", seconds(value), seconds(bar));
        let verdict = match (value <= bar, self.scale) {
            (true, _) => "PASS",
            (false, Scale::Short) => "slow",
            (false, Scale::Long) => "FAIL",
        };
        self.verdict(&what, verdict);
    }

    /// Notes a figure without a bar.
    pub(super) fn figure(&mut self, what: &str, value: impl Display) {
        self.verdict(&format!("{what}: {value}"), "    ");
    }

    /// Compares what clients were told with the database.
    pub(super) fn audit(&mut self, ledger: &Ledger, site: &Site) -> anyhow::Result<Audit> {
        let audit = ledger.audit(site)?;
        self.must(&audit.to_string(), audit.is_clean());
        Ok(audit)
    }

    /// Fails if a node has ended by itself.
    pub(super) fn alive(&mut self, nodes: &mut [Node]) {
        let ends: Vec<String> = nodes.iter_mut().filter_map(Node::end).collect();
        let what = format!(
            "nodes that ended by themselves: {} {}",
            ends.len(),
            ends.join("\n")
        );
        self.must(&what, ends.is_empty());
    }

    fn verdict(&mut self, what: &str, verdict: &str) {
        let line = format!("{verdict}  {}: {what}", self.name);
        // Figures that nobody can read are no reason to stop.
        let _ = writeln!(io::stdout(), "{line}");
        if verdict == "FAIL" {
            self.missed.push(line);
        }
    }

    /// Fails if a bar was missed.
    pub(super) fn finish(reports: impl IntoIterator<Item = Self>) -> anyhow::Result<()> {
        let missed: Vec<String> = reports
            .into_iter()
            .flat_map(|report| report.missed)
            .collect();
        ensure!(
            missed.is_empty(),
            "{} missed:\n{}",
            missed.len(),
            missed.join("\n")
        );
        Ok(())
    }
}

/// Returns a time as text.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
