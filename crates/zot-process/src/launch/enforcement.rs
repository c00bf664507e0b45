//! What the system really enforces, in words for people.

use std::fmt;

/// What holds a confined child, part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforcement {
    pub files: Status,
    pub execution: Status,
    pub network: Status,
    pub memory: Status,
    /// That others can be neither named, signalled, traced, limited nor scheduled.
    pub processes: Status,
    /// That it ends with us, and all it started as well.
    pub parent_death: Status,
}

impl Enforcement {
    /// Every part with a name to show.
    pub fn parts(&self) -> [(&'static str, &Status); 6] {
        [
            ("files", &self.files),
            ("programs", &self.execution),
            ("network", &self.network),
            ("memory", &self.memory),
            ("other processes", &self.processes),
            ("end with parent", &self.parent_death),
        ]
    }
}

/// How well one part of a confinement is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Nobody asked for it.
    NotRequested,
    Enforced,
    /// Enforced but for what this says.
    Partly(String),
    /// Not enforced, for this reason.
    NotEnforced(String),
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
