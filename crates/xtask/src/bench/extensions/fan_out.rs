//! Measures events for ten extensions, one of which never reads, and how that affects the other nine.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};
use testkit::Workdir;
use tokio::time::interval;
use zot_wire::extension::{EventKind, LifecycleEvent};

use super::super::Effort;
use super::super::measure::median;
use super::super::report::{Quantity, Row};
use super::super::samples::Samples;
use super::super::scenarios::Bench;
use super::children::{Behaviour, Installed, Language};
use super::host::{Host, monotonic};

const SUBSCRIBERS: usize = 10;

const EVENTS_PER_SECOND: u32 = 1_000;

/// Large enough to fill the pipe of an extension that never reads, and its queue a second later.
const PADDING_BYTES: usize = 1_000;

/// The largest ratio that counts as noise.
const MAX_RATIO_AT_P50: f64 = 1.25;
const MAX_RATIO_AT_P99: f64 = 1.5;

impl Bench<'_> {
    /// Measures the delay of events, with and without an extension that never reads.
    pub(in super::super) fn fan_out(&self) -> anyhow::Result<Vec<Row>> {
        let (pairs, seconds) = match self.effort() {
            Effort::Full => (5, 4),
            Effort::Quick => (1, 2),
        };
        let events = (EVENTS_PER_SECOND * seconds) as usize;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..pairs {
            without.push(self.fan_out_run(Behaviour::Watches, events)?);
            with.push(self.fan_out_run(Behaviour::NeverReads, events)?);
        }
        let rows = [(50, MAX_RATIO_AT_P50), (99, MAX_RATIO_AT_P99)].map(|(per_cent, most)| {
            // The median of the runs, so that a disturbed run does not count.
            let of = |runs: &[Samples]| {
                median(runs.iter().map(|run| run.percentile(per_cent)).collect())
            };
            let (with, without) = (of(&with), of(&without));
            let what = format!("event to 9 readers beside one that never reads, p{per_cent}");
            [
                Row {
                    what: what.clone(),
                    value: Quantity::Time(with),
                    floor: Some(("beside one that reads", Quantity::Time(without))),
                    target: None,
                    original: "",
                },
                Row {
                    what: format!("{what}, ratio"),
                    value: Quantity::ratio(with, without),
                    floor: None,
                    target: Some(Quantity::Ratio(most)),
                    original: "",
                },
            ]
        });
        Ok(rows.into_iter().flatten().collect())
    }

    /// Returns the delay of each event for each of the nine readers.
    fn fan_out_run(&self, first_behaviour: Behaviour, events: usize) -> anyhow::Result<Samples> {
        let workdir = Workdir::new("fan_out");
        let directory = workdir.path().join("extensions");
        let mut installed = Vec::new();
        for number in 0..SUBSCRIBERS {
            // The first gets events first: if it delayed others, it would delay all of them.
            let behaviour = match number {
                0 => first_behaviour,
                _ => Behaviour::Watches,
            };
            let child = self.child_binary();
            installed.push(Installed::new(
                &directory,
                number,
                Language::Rust,
                child,
                behaviour,
            )?);
        }
        let host = Host::start(&directory, workdir.path().join("home"), SUBSCRIBERS)?;
        host.runtime.block_on(async {
            let padding = "x".repeat(PADDING_BYTES);
            let mut ticks = interval(Duration::from_secs(1) / EVENTS_PER_SECOND);
            for _ in 0..events {
                ticks.tick().await;
                let sent = monotonic().as_nanos();
                host.extensions.emit(EventKind::AssistantMessage, || {
                    LifecycleEvent::AssistantMessage {
                        text: format!("{sent} {padding}"),
                    }
                });
            }
        });
        // They write their measurements when they shut down.
        host.shut_down();
        let mut samples = Samples::default();
        for extension in &installed[1..] {
            let path = extension.directory.join("delays");
            let text = fs::read_to_string(&path)
                .with_context(|| format!("{} noted nothing", extension.name))?;
            let delays: Result<Vec<u64>, _> = text.lines().map(str::parse).collect();
            let delays = delays?;
            let (name, count) = (&extension.name, delays.len());
            ensure!(count == events, "{name} got {count} of {events} events");
            samples.extend(delays.into_iter().map(Duration::from_nanos));
        }
        Ok(samples)
    }
}
