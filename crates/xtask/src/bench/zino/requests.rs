//! Measures requests through the daemon: sequential, from many clients, and with long answers.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::Wire;

use super::super::measure::{nothing, rounds};
use super::super::peer::Peer;
use super::super::report::{Quantity, Row};
use super::super::samples::Samples;
use super::super::scenarios::{Bench, cpu_row, wall_row};
use super::client::{Client, frame};
use super::crowd::{Server, crowd};
use super::installation::Installation;

/// The model's response time in sequential requests.
const MODEL_TIME: Duration = Duration::from_micros(1_500);

const IMMEDIATE: &str = "say:1";

/// 200 ms in total: the server's timers add one.
const DELAYED: &str = "delay:199:say:1";

const CHANNEL: &str = "bench";

/// The default number of a channel's messages that are sent along.
const HISTORY: usize = 50;

const DELTAS: usize = 20_000;

impl Bench<'_> {
    /// Measures one client that waits for each response.
    pub(in super::super) fn requests(&self) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "requests")?;
        let zino = installation.up()?;
        let daemon = installation.socket("daemon");
        let count = self.rounds(2_000);
        let mut rows = Vec::new();
        for (name, channel) in [("request", None), ("request with a channel", Some(CHANNEL))] {
            // The history has grown to the most that is ever sent.
            let grow = request(IMMEDIATE, channel, Streamed::No)?;
            Client::new(&daemon).sample(HISTORY, |_| Ok(grow.clone()))?;
            let directive = self.timed_directive(&installation, channel)?;
            let request = request(&directive, channel, Streamed::No)?;
            let own = Client::new(&daemon).sample(count, |_| Ok(request.clone()))?;
            self.reset_server()?;
            let body = model_request(&installation, &directive, channel)?;
            let model = Server::Model(self.model_port());
            let floor = crowd(&model, 1, count, &body)?.samples;
            self.reset_server()?;
            rows.extend(percentile_rows(name, &own, ("the model alone", &floor)));
        }
        rows.push(Row {
            what: format!("RSS after {} requests", 2 * count),
            value: Quantity::Bytes(zino.resident_bytes()?),
            floor: None,
            target: None,
            original: "",
        });
        Ok(rows)
    }

    /// Returns the directive for a response within [`MODEL_TIME`]: its pause is reduced by the time that the
    /// server itself takes for such a request.
    fn timed_directive(
        &self,
        installation: &Installation,
        channel: Option<&str>,
    ) -> anyhow::Result<String> {
        let directive = |pause: Duration| format!("delay:{}:say:1", pause.as_secs_f64() * 1e3);
        let guess = MODEL_TIME.mul_f64(0.75);
        let body = model_request(installation, &directive(guess), channel)?;
        let model = Server::Model(self.model_port());
        let taken = crowd(&model, 1, self.rounds(1_000), &body)?
            .samples
            .median();
        self.reset_server()?;
        let work = taken.saturating_sub(guess);
        Ok(directive(
            MODEL_TIME.saturating_sub(work).max(MODEL_TIME / 3),
        ))
    }

    /// Measures many clients, each of which waits for its response.
    pub(in super::super) fn crowds(&self) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "crowds")?;
        let zino = installation.up()?;
        let (_floor, echo) = self.echo(&installation)?;
        let services = Server::Service(installation.socket("daemon"));
        let (echo, model) = (Server::Service(echo), Server::Model(self.model_port()));
        let mut rows = Vec::new();
        for (clients, target, original) in [(64, Some(3_000.0), "76–86/s"), (1_000, None, "")] {
            let count = self.rounds(20_000);
            let request = request(IMMEDIATE, None, Streamed::No)?;
            let body = model_request(&installation, IMMEDIATE, None)?;
            crowd(&services, clients, count / 10, &request)?;
            let before = zino.cpu()?;
            let own = crowd(&services, clients, count, &request)?;
            let cpu = zino.cpu()?.saturating_sub(before) / count as u32;
            let sent_back = crowd(&echo, clients, count, &request)?;
            let alone = crowd(&model, clients, count, &body)?;
            self.reset_server()?;
            let target = target.map(Quantity::Rate);
            let name = format!("{clients} clients, model at once");
            for (what, floor) in [
                (name.clone(), ("echo, same clients", sent_back.rate())),
                ("the same".to_owned(), ("the model alone", alone.rate())),
            ] {
                rows.push(Row {
                    what,
                    value: own.rate(),
                    floor: Some(floor),
                    target,
                    original,
                });
            }
            rows.push(Row {
                what: format!("{name}, CPU a request"),
                value: Quantity::Time(cpu),
                floor: None,
                target: None,
                original: "",
            });
            rows.push(time_row(
                format!("{name}, p99"),
                own.samples.percentile(99),
                Some(("the model alone", alone.samples.percentile(99))),
            ));
        }
        for (clients, target, original) in [(64, Some(310.0), "25/s"), (1_000, None, "")] {
            let count = clients * self.rounds(20);
            let request = request(DELAYED, None, Streamed::No)?;
            let body = model_request(&installation, DELAYED, None)?;
            let own = crowd(&services, clients, count, &request)?;
            let alone = crowd(&model, clients, count, &body)?;
            self.reset_server()?;
            rows.push(Row {
                what: format!("{clients} clients, model in 200 ms"),
                value: own.rate(),
                floor: Some(("the model alone", alone.rate())),
                target: target.map(Quantity::Rate),
                original,
            });
        }
        Ok(rows)
    }

    /// Measures the CPU time of a long streamed answer, from daemon to loop to router.
    pub(in super::super) fn service_streaming(&self) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "streaming")?;
        let mut zino = installation.up()?;
        let daemon = installation.socket("daemon");
        let mut client = Client::new(&daemon);
        let directive = format!("say:{DELTAS}");
        let request = request(&directive, None, Streamed::Yes)?;
        let count = self.rounds(25);
        let own = rounds(&mut zino, count, nothing, |_: &mut Peer| {
            let (frames, last) = client.drain(&request)?;
            ensure!(frames > DELTAS, "only {frames} frames for {DELTAS} deltas");
            let last: Value = serde_json::from_slice(&last)?;
            ensure!(last["type"] == "done", "the last frame is {last}");
            Ok(())
        })?;
        let mut floor = self.floor()?;
        let plain = self.exchange(&mut floor, count, Wire::OpenAi, 1, 1, &directive)?;
        let plain = ("plain reader", plain);
        let name = format!("{DELTAS} deltas");
        Ok(vec![
            cpu_row(&name, own, plain, Some(150.0), "6,700 ms"),
            wall_row(&name, own, plain),
        ])
    }
}

enum Streamed {
    Yes,
    No,
}

fn request(message: &str, channel: Option<&str>, streamed: Streamed) -> anyhow::Result<Vec<u8>> {
    let stream = matches!(streamed, Streamed::Yes);
    frame(&json!({"message": message, "channel_id": channel, "stream": stream}))
}

/// Returns approximately what the router sends to the model for such a request.
fn model_request(
    installation: &Installation,
    message: &str,
    channel: Option<&str>,
) -> anyhow::Result<Vec<u8>> {
    let prompt = Client::new(&installation.socket("sys")).value(&json!({"type": "get"}))?;
    let build = json!({"type": "build", "channel_id": channel, "user_message": message});
    let context = Client::new(&installation.socket("ctx")).value(&build)?;
    let mut messages = vec![json!({"role": "system", "content": prompt["content"]})];
    messages.extend(
        context["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .cloned(),
    );
    messages.push(json!({"role": "user", "content": message}));
    let body = json!({
        "model": "m",
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.7,
        "top_p": 1.0,
        "messages": messages,
    });
    let body = body.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Ok([head, body].concat().into_bytes())
}

fn percentile_rows(
    name: &str,
    own: &Samples,
    (floor_name, floor): (&'static str, &Samples),
) -> [Row; 2] {
    let row = |per_cent, target| Row {
        target,
        ..time_row(
            format!("{name}, p{per_cent}"),
            own.percentile(per_cent),
            Some((floor_name, floor.percentile(per_cent))),
        )
    };
    let target = Some(Quantity::milliseconds(2.0));
    let original = match name {
        "request" => "13–19 ms",
        _ => "30 ms",
    };
    [
        Row {
            original,
            ..row(50, target)
        },
        row(99, None),
    ]
}

/// Returns the row of a time without a target.
pub(super) fn time_row(
    what: String,
    value: Duration,
    floor: Option<(&'static str, Duration)>,
) -> Row {
    Row {
        what,
        value: Quantity::Time(value),
        floor: floor.map(|(name, floor)| (name, Quantity::Time(floor))),
        target: None,
        original: "",
    }
}
