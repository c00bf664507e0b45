//! The table of figures.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::process::Command;
use std::time::Duration;

use super::Effort;

/// Shorter times are shown in µs.
const MICROSECONDS_BELOW: Duration = Duration::from_micros(100);

/// One figure.
pub(super) struct Row {
    pub(super) what: String,
    pub(super) value: Quantity,
    /// The same work done by a program that does nothing else.
    pub(super) floor: Option<(&'static str, Quantity)>,
    pub(super) target: Option<Quantity>,
    /// The figure of the original, from another machine.
    pub(super) original: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quantity {
    Time(Duration),
    Bytes(u64),
    Ratio(f64),
    /// A fraction of 1.
    Share(f64),
    /// Per second; more is better.
    Rate(f64),
    /// Per second; fewer is better.
    Nuisance(f64),
}

impl Quantity {
    pub(super) fn ratio(value: Duration, floor: Duration) -> Self {
        Self::Ratio(value.as_secs_f64() / floor.as_secs_f64())
    }

    pub(super) fn milliseconds(milliseconds: f64) -> Self {
        Self::Time(Duration::from_secs_f64(milliseconds / 1e3))
    }

    fn misses(self, target: Self) -> bool {
        match (self, target) {
            (Self::Rate(own), Self::Rate(target)) => own < target,
            (Self::Time(own), Self::Time(target)) => own > target,
            (Self::Bytes(own), Self::Bytes(target)) => own > target,
            (Self::Ratio(own), Self::Ratio(target))
            | (Self::Nuisance(own), Self::Nuisance(target)) => own > target,
            _ => false,
        }
    }

    /// Returns the comparison with a target of this kind.
    fn bound(self) -> char {
        match self {
            Self::Rate(_) => '≥',
            _ => '≤',
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) if *time < MICROSECONDS_BELOW => {
                write!(formatter, "{:.1} µs", time.as_secs_f64() * 1e6)
            }
            Self::Time(time) => {
                let milliseconds = time.as_secs_f64() * 1e3;
                let decimals = match milliseconds {
                    small if small < 1.0 => 3,
                    medium if medium < 10.0 => 2,
                    _ => 1,
                };
                write!(formatter, "{milliseconds:.decimals$} ms")
            }
            Self::Bytes(bytes) if *bytes < 1 << 20 => {
                write!(formatter, "{:.1} KiB", *bytes as f64 / f64::from(1 << 10))
            }
            Self::Bytes(bytes) => {
                write!(formatter, "{:.2} MiB", *bytes as f64 / f64::from(1 << 20))
            }
            Self::Ratio(ratio) => write!(formatter, "{ratio:.2} ×"),
            Self::Share(share) => write!(formatter, "{:.1} %", share * 1e2),
            Self::Rate(rate) => write!(formatter, "{rate:.0}/s"),
            Self::Nuisance(rate) => write!(formatter, "{rate:.1}/s"),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            value,
            floor,
            target,
            original,
        } = self;
        write!(formatter, "| {what} | {value} | ")?;
        if let Some((name, floor)) = floor {
            write!(formatter, "{floor} ({name})")?;
        }
        match target {
            Some(target) => {
                let verdict = match value.misses(*target) {
                    true => "**no**",
                    false => "yes",
                };
                write!(formatter, " | {} {target} | {verdict}", target.bound())?;
            }
            None => write!(formatter, " | | ")?,
        }
        write!(formatter, " | {original} |")
    }
}

/// Returns the machine, the command and the table header.
pub(super) fn heading(bench: &str, program: &str, effort: Effort) -> String {
    let line = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        text.unwrap_or_default()
    };
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let model = model
        .and_then(|line| line.split_once(": "))
        .map_or("unknown", |(_, model)| model);
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "`cargo xtask bench {bench}{}` on {}, commit {}: {processors} × {model}, {}, load {}\n\n\
         | what | {program} | floor | target | met | original |\n\
         |---|---:|---:|---:|---|---:|\n",
        if effort == Effort::Quick {
            " --quick"
        } else {
            ""
        },
        line("date", &["-u", "+%Y-%m-%d"]),
        line("git", &["describe", "--always", "--dirty"]),
        line("uname", &["-sr"]),
        load.split(' ').next().unwrap_or_default(),
    )
}
