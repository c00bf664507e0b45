//! Many sessions at the same time on two workers, each through `zino attach`: every event arrives, once and in
//! order.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::Zot;

use super::Stage;
use super::report::{Report, seconds};
use crate::bench::Samples;
use crate::cluster::{Node, loopback_places};

/// How long a prompt may take while all others run too.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many sessions are opened, or run commands, at the same time.
const WAVE: usize = 50;

/// The words of the scripted model's longest answer.
const MOST_WORDS: usize = 40;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = stage.site()?;
    let mut workers = site.workers(&loopback_places(2))?;
    for worker in &mut workers {
        worker.start()?;
    }
    let count = stage.pick(20, 500);
    let start = Instant::now();
    let mut sessions: Vec<Zot> = Vec::new();
    while sessions.len() < count {
        let mut wave: Vec<Zot> = (0..WAVE.min(count - sessions.len()))
            .map(|_| site.attach())
            .collect();
        wait_until_open(&mut wave)?;
        sessions.extend(wave);
    }
    report.figure("sessions open at the same time", count);
    report.figure("until all were open", seconds(start.elapsed()));
    let rows = site.count("select count(*) from zino_session")?;
    report.must(&format!("sessions in the database: {rows}"), rows == count);
    let shares: Vec<usize> = prompts(&mut sessions, &workers, stage.pick(2, 5), report)?;
    report.must(
        &format!("model calls of each worker: {shares:?}"),
        shares.iter().all(|share| *share > 0),
    );
    let ids: BTreeSet<String> = sessions.iter().map(Zot::stderr).collect();
    report.must(
        &format!("different names on standard error: {}", ids.len()),
        ids.len() == count,
    );
    let codes: BTreeSet<Option<i32>> = sessions.into_iter().map(|zot| zot.finish().code).collect();
    report.must(
        &format!("exit codes: {codes:?}"),
        codes == BTreeSet::from([Some(0)]),
    );
    report.alive(&mut workers);
    Ok(())
}

/// Waits until sessions answer.
fn wait_until_open(sessions: &mut [Zot]) -> anyhow::Result<()> {
    for session in &mut *sessions {
        session.send(json!({ "id": "state", "type": "get_state" }));
    }
    for session in sessions {
        let answered = |frame: &Value| frame["type"] == "response" && frame["id"] == "state";
        session
            .try_collect_until(answered, PATIENCE)
            .map_err(anyhow::Error::msg)
            .with_context(|| session.stderr())?;
    }
    Ok(())
}

/// Sends prompts to all sessions, to say something at the same time, and checks every event. Returns the model calls of each
/// worker.
fn prompts(
    sessions: &mut [Zot],
    workers: &[Node],
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<Vec<usize>> {
    for worker in workers {
        worker.model.reset();
    }
    let (mut events, mut times) = (0, Samples::default());
    for round in 0..rounds {
        let start = Instant::now();
        let message = |number: usize| match round % 2 {
            0 => format!("say:{} in {number}", 1 + number % MOST_WORDS),
            _ => format!("texttool:bash:{{\"command\":\"echo {number}\"}}"),
        };
        // Commands start processes, of which two cores run few at a time.
        let at_a_time = match round % 2 {
            0 => sessions.len(),
            _ => WAVE,
        };
        for (wave, sessions) in sessions.chunks_mut(at_a_time).enumerate() {
            let first = wave * at_a_time;
            for (session, number) in sessions.iter_mut().zip(first..) {
                session.prompt("p", &message(number));
            }
            for (session, number) in sessions.iter_mut().zip(first..) {
                let frames = session
                    .try_collect_until(|frame| frame["type"] == "done", PATIENCE)
                    .map_err(anyhow::Error::msg)
                    .with_context(|| format!("session {number}: {}", session.stderr()))?;
                events += frames.len();
                check(&frames, round, number, &message(number))
                    .with_context(|| format!("session {number}: {frames:?}"))?;
            }
        }
        times.push(start.elapsed());
    }
    report.must(&format!("events in order, none lost: {events}"), events > 0);
    report.figure(
        "a prompt in every session, longest",
        seconds(times.percentile(100)),
    );
    let shares = workers.iter().map(|worker| worker.model.requests().len());
    Ok(shares.collect())
}

/// Fails unless the frames are exactly those of one prompt.
fn check(frames: &[Value], round: usize, number: usize, message: &str) -> anyhow::Result<()> {
    let kinds = frames.iter().filter_map(|frame| frame["type"].as_str());
    let mut kinds: Vec<&str> = kinds.collect();
    // Where text is cut has no meaning, and progress is for display.
    kinds.retain(|kind| *kind != "tool_progress");
    kinds.dedup_by(|later, earlier| later == earlier && is_delta(later));
    let text = "turn_start assistant_start text_delta usage assistant_message turn_end";
    let call = "turn_start assistant_start text_delta tool_use_start tool_use_args tool_use_end usage \
                assistant_message tool_call turn_end tool_result";
    let expected = match round % 2 {
        0 => format!("response user_message {text} done"),
        _ => format!("response user_message {call} {text} done"),
    };
    ensure!(kinds.join(" ") == expected, "unexpected events {kinds:?}");
    let prompt = frames.iter().find(|frame| frame["type"] == "user_message");
    let prompt = prompt.map(|frame| frame["content"][0]["text"].clone());
    ensure!(prompt == Some(json!(message)), "another prompt: {prompt:?}");
    let deltas = frames.iter().filter(|frame| frame["type"] == "text_delta");
    let text: String = deltas.filter_map(|frame| frame["delta"].as_str()).collect();
    let expected = match round % 2 {
        0 => words(1 + number % MOST_WORDS),
        _ => "let me look. all done".to_owned(),
    };
    ensure!(text == expected, "another text: {text:?}");
    if round % 2 == 1 {
        let result = frames.iter().find(|frame| frame["type"] == "tool_result");
        let result = result.and_then(|frame| frame["content"][0]["text"].as_str());
        let shown = format!("$ echo {number}\n\n{number}\n");
        ensure!(
            result.is_some_and(|text| text.starts_with(&shown)),
            "another result: {result:?}"
        );
    }
    Ok(())
}

fn is_delta(kind: &str) -> bool {
    matches!(kind, "text_delta" | "tool_use_args")
}

/// Returns what the scripted model says.
fn words(count: usize) -> String {
    const WORDS: [&str; 8] = [
        "alpha ", "beta ", "gamm ", "delta ", "epsi ", "zeta ", "theta ", "iota ",
    ];
    WORDS.iter().cycle().take(count).copied().collect()
}
