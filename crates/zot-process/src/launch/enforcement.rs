//! Reports what the system really enforces.

use std::fmt;

/// The enforcement of each part of a confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforcement {
    pub files: Status,
    pub execution: Status,
    pub network: Status,
    pub memory: Status,
    pub process_count: Status,
    /// Other processes can be neither named, signalled, traced, limited nor scheduled.
    pub processes: Status,
    /// The child and its descendants end with this process.
    pub parent_death: Status,
}

impl Enforcement {
    /// Returns every part with a display name.
    pub fn parts(&self) -> [(&'static str, &Status); 7] {
        [
            ("files", &self.files),
            ("programs", &self.execution),
            ("network", &self.network),
            ("memory", &self.memory),
            ("number of processes", &self.process_count),
            ("other processes", &self.processes),
            ("end with parent", &self.parent_death),
        ]
    }
}

/// How well one part of a confinement is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    NotRequested,
    Enforced,
    /// Enforced with this gap.
    Partly(String),
    /// Not enforced, for this reason.
    NotEnforced(String),
}

impl Status {
    /// Adds a gap to what is enforced.
    #[cfg(target_os = "linux")]
    pub(super) fn with_gap(self, gap: &str) -> Self {
        match self {
            Self::Enforced => Self::Partly(gap.to_owned()),
            Self::Partly(known) => Self::Partly(format!("{known}; {gap}")),
            Self::NotRequested | Self::NotEnforced(_) => self,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRequested => formatter.write_str("not restricted"),
            Self::Enforced => formatter.write_str("enforced"),
            Self::Partly(gap) => write!(formatter, "partly enforced: {gap}"),
            Self::NotEnforced(reason) => write!(formatter, "not enforced: {reason}"),
        }
    }
}
