//! The overview as text and as JSON.

use std::fmt;

use serde::Serialize;

use super::{Health, Overview, Status};
use crate::bus::Instance;

/// The titles of the table of instances.
const TITLES: [&str; 8] = [
    "SERVICE",
    "INSTANCE",
    "HOST",
    "PID",
    "VERSION",
    "IN FLIGHT",
    "STATE",
    "STORE",
];

/// The columns with numbers, which end at the same place.
const NUMBERS: [usize; 3] = [3, 5, 7];

impl Overview {
    /// Whether every service answers somewhere.
    pub fn is_good(&self) -> bool {
        let all_answer = self.services.iter().all(|status| status.health.is_good());
        all_answer && !matches!(self.instances, Some(Err(_)))
    }

    pub fn to_json(&self) -> String {
        let report = Report {
            services: self.services.iter().map(ServiceReport::of).collect(),
            instances: match &self.instances {
                Some(Ok(instances)) => Some(instances),
                _ => None,
            },
            bus_error: match &self.instances {
                Some(Err(error)) => Some(error.to_string()),
                _ => None,
            },
        };
        // Strings and numbers can be written.
        serde_json::to_string_pretty(&report).unwrap_or_default()
    }
}

impl Health {
    fn is_good(&self) -> bool {
        matches!(self, Self::Responding { .. })
    }
}

impl fmt::Display for Overview {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for status in &self.services {
            writeln!(formatter, "{status}")?;
        }
        match &self.instances {
            None => Ok(()),
            Some(Err(error)) => writeln!(formatter, "bus     down     {error}"),
            Some(Ok(instances)) if instances.is_empty() => {
                writeln!(formatter, "bus     answers  no instances")
            }
            Some(Ok(instances)) => {
                if !self.services.is_empty() {
                    writeln!(formatter)?;
                }
                write_table(formatter, instances)
            }
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:<7} {}  {}",
            self.kind.name(),
            self.health,
            self.address
        )
    }
}

impl fmt::Display for Health {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Responding { latency, version } => {
                let milliseconds = latency.as_secs_f64() * 1000.0;
                let version = version.as_deref().unwrap_or("version unknown");
                write!(formatter, "answers  {milliseconds:>7.2} ms  {version}")
            }
            Self::Unexpected(text) => write!(formatter, "invalid  {text}"),
            Self::Silent => formatter.write_str("silent"),
            Self::Down(error) => write!(formatter, "down     {error}"),
        }
    }
}

fn write_table(formatter: &mut fmt::Formatter<'_>, instances: &[Instance]) -> fmt::Result {
    let rows: Vec<[String; 8]> = std::iter::once(TITLES.map(str::to_owned))
        .chain(instances.iter().map(row))
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let cell = match NUMBERS.contains(&column) {
                true => format!("{cell:>width$}  "),
                false => format!("{cell:<width$}  "),
            };
            line.push_str(&cell);
        }
        writeln!(formatter, "{}", line.trim_end())?;
    }
    Ok(())
}

fn row(instance: &Instance) -> [String; 8] {
    let state = match instance.draining {
        true => "draining",
        false => "serving",
    };
    [
        instance.service.clone(),
        instance.instance.clone(),
        instance.host.clone(),
        instance.pid.to_string(),
        instance.version.clone(),
        format!("{} of {}", instance.in_flight, instance.capacity),
        state.to_owned(),
        match instance.store_lag_ms {
            Some(lag) => format!("{lag:.1} ms"),
            None => String::new(),
        },
    ]
}

#[derive(Serialize)]
struct Report<'a> {
    services: Vec<ServiceReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instances: Option<&'a Vec<Instance>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bus_error: Option<String>,
}

#[derive(Serialize)]
struct ServiceReport<'a> {
    service: &'static str,
    address: &'a str,
    /// `answers`, `invalid`, `silent` or `down`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> ServiceReport<'a> {
    fn of(status: &'a Status) -> Self {
        let (state, error) = match &status.health {
            Health::Responding { .. } => ("answers", None),
            Health::Unexpected(text) => ("invalid", Some(text.as_str())),
            Health::Silent => ("silent", None),
            Health::Down(error) => ("down", Some(error.as_str())),
        };
        let (latency_ms, version) = match &status.health {
            Health::Responding { latency, version } => {
                (Some(latency.as_secs_f64() * 1000.0), version.as_deref())
            }
            _ => (None, None),
        };
        Self {
            service: status.kind.name(),
            address: &status.address,
            state,
            latency_ms,
            version,
            error,
        }
    }
}
