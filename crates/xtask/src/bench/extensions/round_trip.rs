//! Measures a call of an extension's tool that does nothing: over a bare pipe, through the host in this
//! process, and through `zot rpc`.

use std::time::{Duration, Instant};

use anyhow::ensure;
use testkit::{Wire, Workdir};

use super::super::Effort;
use super::super::measure::median;
use super::super::peer::Peer;
use super::super::report::{Quantity, Row};
use super::super::samples::Samples;
use super::super::scenarios::{Bench, clear};
use super::children::{Installed, Language};
use super::host::{Host, own_cpu};

pub(super) const ARGUMENTS: &str = r#"{"text":"hello"}"#;

/// Calls of one kind before those of the next, so that all run under the same conditions. Through `zot
/// rpc` they are one prompt.
const CALLS_PER_ROUND: u32 = 50;

/// The rounds of each effort, after one to warm up.
const ROUNDS: usize = 40;
const QUICK_ROUNDS: usize = 6;

/// One model call, as large as the average one of `zot rpc`.
const MODEL_CALL: &str = "exchange 1 /v1/chat/completions 50 say:1";

/// The calls made in one way.
#[derive(Default)]
struct Way {
    samples: Samples,
    /// The caller's CPU time per call, by round.
    cpus: Vec<Duration>,
}

impl Way {
    fn add(&mut self, samples: Vec<Duration>, cpu: Duration) {
        self.cpus.push(cpu / CALLS_PER_ROUND);
        self.samples.extend(samples);
    }
}

struct Ways {
    bare: Way,
    bare_between_model_calls: Way,
    host: Way,
    rpc: Way,
    /// The share of calls that ended before the bench saw their start.
    untimed: Quantity,
}

impl Ways {
    fn new() -> Self {
        Self {
            bare: Way::default(),
            bare_between_model_calls: Way::default(),
            host: Way::default(),
            rpc: Way::default(),
            untimed: Quantity::Share(0.0),
        }
    }
}

impl Bench<'_> {
    /// Measures tool calls of extensions in both languages.
    pub(in super::super) fn tool_round_trips(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for language in Language::ALL {
            rows.extend(rows_of(language, &self.round_trips(language)?));
        }
        Ok(rows)
    }

    fn round_trips(&self, language: Language) -> anyhow::Result<Ways> {
        let workdir = Workdir::new("round_trips");
        let directory = workdir.zot_home().join("extensions");
        let installed = Installed::several(&directory, 1, language, self.child_binary())?;
        let installed = &installed[0];
        let mut bare = installed.start_bare()?;
        bare.until_ready()?;
        let mut model_caller = self.floor()?;
        let host = Host::start(&directory, workdir.path().join("home"), 1)?;
        let mut zot = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
        let prompt = format!("loop:{CALLS_PER_ROUND}:{}:{ARGUMENTS}", installed.name);
        let rounds = match self.effort() {
            Effort::Full => ROUNDS,
            Effort::Quick => QUICK_ROUNDS,
        };
        let mut ways = Ways::new();
        for round in 0..=rounds {
            if round == 1 {
                // The first round warms up.
                ways = Ways::new();
            }
            self.reset_server()?;
            let cpu = own_cpu();
            let samples = call_bare(&mut bare, &installed.name, || Ok(()))?;
            ways.bare.add(samples, own_cpu() - cpu);

            let cpu = own_cpu();
            let samples = host.call(&installed.name, CALLS_PER_ROUND as usize)?;
            ways.host.add(samples, own_cpu() - cpu);

            let samples = call_bare(&mut bare, &installed.name, || {
                model_caller.work(MODEL_CALL).map(drop)
            })?;
            ways.bare_between_model_calls.add(samples, Duration::ZERO);

            clear(&mut zot)?;
            let cpu = zot.cpu()?;
            let samples = call_through_rpc(&mut zot, &prompt)?;
            ways.rpc.add(samples, zot.cpu()? - cpu);
        }
        host.shut_down();
        let calls = rounds * CALLS_PER_ROUND as usize;
        let untimed = calls.saturating_sub(ways.rpc.samples.len());
        ways.untimed = Quantity::Share(untimed as f64 / calls as f64);
        Ok(ways)
    }
}

/// Runs `before`, writes a call and reads the response, `times` times.
fn call_bare(
    child: &mut Peer,
    tool: &str,
    mut before: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::with_capacity(CALLS_PER_ROUND as usize);
    for id in 0..CALLS_PER_ROUND {
        before()?;
        let call =
            format!(r#"{{"type":"tool_call","id":"{id}","name":"{tool}","args":{ARGUMENTS}}}"#);
        let start = Instant::now();
        child.call(&call)?;
        samples.push(start.elapsed());
    }
    Ok(samples)
}

/// Measures from the line with the tool call to the line with its result. When one read returns both,
/// the time is unknown and the call is left out.
fn call_through_rpc(zot: &mut Peer, prompt: &str) -> anyhow::Result<Vec<Duration>> {
    let prompt = serde_json::json!({"id": "p", "type": "prompt", "message": prompt});
    zot.send(&prompt.to_string())?;
    let mut samples = Vec::with_capacity(CALLS_PER_ROUND as usize);
    let mut called = None;
    let (mut results, mut errors) = (0, 0);
    zot.watch(|line, now| {
        if line.starts_with(br#"{"type":"turn_end","stop":"tool_use""#) {
            called = Some(now);
        } else if line.starts_with(br#"{"type":"tool_result""#) {
            results += 1;
            errors += u32::from(contains(line, br#""is_error":true"#));
            let taken = called.take().map(|called| now - called);
            samples.extend(taken.filter(|taken| !taken.is_zero()));
        }
    })?;
    ensure!(
        results == CALLS_PER_ROUND && errors == 0,
        "{results} results, {errors} of them errors"
    );
    Ok(samples)
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}

fn rows_of(language: Language, ways: &Ways) -> Vec<Row> {
    let language = language.as_str();
    let bare = ("bare pipe", &ways.bare);
    let between = (
        "bare pipe, a model call before each",
        &ways.bare_between_model_calls,
    );
    let mut rows = Vec::new();
    for (way, own, floors) in [
        ("host", &ways.host, &[bare][..]),
        ("`zot rpc`", &ways.rpc, &[bare, between][..]),
    ] {
        let name = format!("tool call, {language}, {way}");
        for (per_cent, original) in [(50, "182–222 µs"), (99, "2.3 ms")] {
            rows.push(Row {
                what: format!("{name}, p{per_cent}"),
                value: Quantity::Time(own.samples.percentile(per_cent)),
                floor: Some((bare.0, Quantity::Time(bare.1.samples.percentile(per_cent)))),
                target: None,
                original,
            });
        }
        for &(floor_name, floor) in floors {
            let floor = floor.samples.median();
            rows.push(Row {
                what: format!("{name}, p50 / floor"),
                value: Quantity::ratio(own.samples.median(), floor),
                floor: Some((floor_name, Quantity::Time(floor))),
                target: Some(Quantity::Ratio(1.5)),
                original: "2–12 ×",
            });
        }
        rows.push(Row {
            what: format!("{name}, p99 / p50"),
            value: Quantity::ratio(own.samples.percentile(99), own.samples.median()),
            floor: Some((
                bare.0,
                Quantity::ratio(bare.1.samples.percentile(99), bare.1.samples.median()),
            )),
            target: Some(Quantity::Ratio(5.0)),
            original: "≥ 10 ×",
        });
        rows.push(Row {
            what: match way {
                "host" => format!("{name}, CPU of the host"),
                _ => format!("{name}, CPU of zot with the model call"),
            },
            value: Quantity::Time(median(own.cpus.clone())),
            floor: Some((bare.0, Quantity::Time(median(ways.bare.cpus.clone())))),
            target: None,
            original: "",
        });
    }
    rows.push(Row {
        what: format!("tool call, {language}, `zot rpc`, left out: read too late to be timed"),
        value: ways.untimed,
        floor: None,
        target: None,
        original: "",
    });
    rows
}
