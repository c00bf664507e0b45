//! The Prometheus text format.

use std::fmt::{Display, Write as _};

use super::service::{ErrorLabel, ServiceMetrics};
use super::value::{BOUNDS, Counter, Gauge, Histogram};

const MICROSECONDS_PER_SECOND: f64 = 1_000_000.0;

/// Everything that was counted so far.
pub fn text() -> String {
    let mut text = Text::default();
    text.family("zino_build_info", "gauge", "The version of the program.");
    text.sample(
        "zino_build_info",
        &[("version", env!("CARGO_PKG_VERSION"))],
        1,
    );
    text.services(&super::services());
    text.bus();
    text.store();
    text.gauge("zino_draining", "1 from SIGTERM on.", &super::DRAINING);
    text.into_string()
}

#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn into_string(self) -> String {
        self.0
    }

    fn services(&mut self, services: &[(String, &ServiceMetrics)]) {
        self.family("zino_requests_total", "counter", "Requests, by service.");
        for (name, service) in services {
            let labels = [("service", name.as_str())];
            self.sample("zino_requests_total", &labels, service.requests.value());
        }
        let help = "Requests without a good response, by service and error code.";
        self.family("zino_errors_total", "counter", help);
        for (name, service) in services {
            for label in ErrorLabel::ALL {
                let labels = [("service", name.as_str()), ("code", label.name())];
                let value = service.errors[label as usize].value();
                self.sample("zino_errors_total", &labels, value);
            }
        }
        self.family(
            "zino_in_flight",
            "gauge",
            "Requests being handled, by service.",
        );
        for (name, service) in services {
            let labels = [("service", name.as_str())];
            self.sample("zino_in_flight", &labels, service.in_flight());
        }
        let help = "Requests that are handled at a time, by service.";
        self.family("zino_capacity", "gauge", help);
        for (name, service) in services {
            let labels = [("service", name.as_str())];
            self.sample("zino_capacity", &labels, service.capacity());
        }
        let help = "Time from the arrival of a request to the first frame of its response.";
        self.family("zino_first_frame_seconds", "histogram", help);
        for (name, service) in services {
            let labels = [("service", name.as_str())];
            self.buckets("zino_first_frame_seconds", &labels, &service.first_frame);
        }
    }

    fn bus(&mut self) {
        self.histogram(
            "zino_bus_accept_seconds",
            "Time until an instance accepted a call over the bus.",
            &super::BUS_ACCEPT_SECONDS,
        );
        self.counter(
            "zino_bus_retries_total",
            "Attempts after the first, of calls over the bus.",
            &super::BUS_RETRIES,
        );
        self.counter(
            "zino_bus_credit_stalls_total",
            "How often a response waited for its reader's credit.",
            &super::BUS_CREDIT_STALLS,
        );
        self.counter(
            "zino_bus_reconnects_total",
            "Connections to the bus after the first.",
            &super::BUS_RECONNECTS,
        );
        self.gauge(
            "zino_bus_connected",
            "1 while the bus is connected.",
            &super::BUS_CONNECTED,
        );
    }

    fn store(&mut self) {
        self.counter(
            "zino_lease_takeovers_total",
            "Sessions taken over after the lease of their worker had ended.",
            &super::LEASE_TAKEOVERS,
        );
        self.histogram(
            "zino_append_seconds",
            "Time to append to the store.",
            &super::APPEND_SECONDS,
        );
        self.counter(
            "zino_unsaved_turns_total",
            "Turns that were not, or may not have been, stored.",
            &super::UNSAVED_TURNS,
        );
        self.gauge(
            "zino_sessions_open",
            "Sessions of agents that run here.",
            &super::SESSIONS_OPEN,
        );
        self.counter(
            "zino_sessions_resumed_total",
            "Sessions opened with what was recorded before.",
            &super::SESSIONS_RESUMED,
        );
        let help = "Time of the last statement of the database.";
        self.family("zino_store_lag_seconds", "gauge", help);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a wait is far below 2^52 microseconds"
        )]
        let lag = super::STORE_LAG_MICROSECONDS.value() as f64 / MICROSECONDS_PER_SECOND;
        self.sample("zino_store_lag_seconds", &[], lag);
    }

    fn counter(&mut self, name: &str, help: &str, counter: &Counter) {
        self.family(name, "counter", help);
        self.sample(name, &[], counter.value());
    }

    fn gauge(&mut self, name: &str, help: &str, gauge: &Gauge) {
        self.family(name, "gauge", help);
        self.sample(name, &[], gauge.value());
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        self.buckets(name, &[], histogram);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn buckets(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let counts = histogram.cumulative();
        let series = format!("{name}_bucket");
        let bounds = BOUNDS.iter().map(f64::to_string);
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
            let labels: Vec<_> = labels
                .iter()
                .copied()
                .chain([("le", bound.as_str())])
                .collect();
            self.sample(&series, &labels, count);
        }
        self.sample(&format!("{name}_sum"), labels, histogram.sum_seconds());
        let all = counts.last().copied().unwrap_or_default();
        self.sample(&format!("{name}_count"), labels, all);
    }

    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (position, (label, text)) in labels.iter().enumerate() {
            self.0.push(if position == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
