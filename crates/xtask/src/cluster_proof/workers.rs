//! `kill -9` of a worker in the middle of a tool loop: another continues with everything that was told, and no
//! command runs twice.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::Zot;

use super::Stage;
use super::report::{Report, seconds};
use crate::bench::Samples;
use crate::cluster::{Node, Site, loopback_places};

/// The lease of ten seconds, and two to take over.
const BAR: Duration = Duration::from_secs(12);

/// How long a command of a client may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many lines of a client are shown when it fails.
const SHOWN_LINES: usize = 30;

/// The file to which every command of the model adds its number.
const LOG: &str = "log";

/// The commands of a loop, more than run before the kill.
const COMMANDS: usize = 1_000;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = stage.site()?;
    let mut workers = site.workers(&loopback_places(2))?;
    for worker in &mut workers {
        worker.start()?;
    }
    let mut client = site.attach();
    let (mut took, mut told) = (Samples::default(), Vec::new());
    let (mut results, mut moved) = (0, 0);
    let rounds = stage.pick(1, 10);
    for round in 0..rounds {
        let fact = format!("say:2 remember {round}");
        prompt(&mut client, &fact)?;
        told.push(fact);
        let before = 3 + round % 5;
        let killed = interrupt(round, before, &mut client, &mut workers)?;
        let start = Instant::now();
        told.push(tool_loop(round));
        let frames = until_done(&mut client)?;
        let later = frames.iter().filter(|frame| frame["type"] == "tool_result");
        results += before + later.count();
        let question = format!("say:3 question {round}");
        prompt(&mut client, &question)?;
        took.push(start.elapsed());
        told.push(question);
        let other = &workers[1 - killed];
        moved += usize::from(!other.model.requests().is_empty());
        check_memory(&told, &mut client, other, report)?;
        workers[killed].start()?;
    }
    report.figure("kills of the serving worker", rounds);
    report.must(
        &format!("prompts that another worker answered: {moved}"),
        moved == rounds,
    );
    let longest = took.percentile(100);
    report.time("until the next prompt was answered, longest", longest, BAR);
    report.figure("median", seconds(took.median()));
    check_commands(&site, results, report)?;
    let code = client.finish().code;
    report.must(
        &format!("exit code of the client: {code:?}"),
        code == Some(0),
    );
    report.alive(&mut workers);
    Ok(())
}

fn tool_loop(round: usize) -> String {
    let command = format!("echo {round}-%STEP% >> {LOG}; sleep 0.05");
    let arguments = json!({ "command": command });
    format!("loop:{COMMANDS}:bash:{arguments}")
}

/// Begins a tool loop and kills the worker after some results; returns which worker.
fn interrupt(
    round: usize,
    results: usize,
    client: &mut Zot,
    workers: &mut [Node],
) -> anyhow::Result<usize> {
    for worker in &*workers {
        worker.model.reset();
    }
    client.prompt("loop", &tool_loop(round));
    for _ in 0..results {
        wait(client, |frame| frame["type"] == "tool_result")?;
    }
    // At another point of the loop each time.
    std::thread::sleep(Duration::from_millis(round as u64 * 17 % 60));
    let serving = workers
        .iter()
        .position(|worker| !worker.model.requests().is_empty())
        .context("no worker works on the prompt")?;
    for worker in &*workers {
        worker.model.reset();
    }
    workers[serving].kill();
    Ok(serving)
}

/// Sends a prompt, which must succeed.
pub(super) fn prompt(client: &mut Zot, message: &str) -> anyhow::Result<()> {
    client.prompt("p", message);
    let is_refusal = |frame: &Value| frame["type"] == "response" && frame["success"] == false;
    let frames = wait(client, |frame| frame["type"] == "done" || is_refusal(frame))?;
    let is_error = |frame: &&Value| frame["type"] == "error" || is_refusal(frame);
    let error = frames.iter().find(is_error);
    ensure!(error.is_none(), "{message}: {error:?}");
    Ok(())
}

fn until_done(client: &mut Zot) -> anyhow::Result<Vec<Value>> {
    wait(client, |frame| frame["type"] == "done")
}

fn wait(client: &mut Zot, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Vec<Value>> {
    client
        .try_collect_until(wanted, PATIENCE)
        .map_err(anyhow::Error::msg)
        .with_context(|| {
            let lines = client.lines();
            let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
            format!("{}the last lines: {}", client.stderr(), last.join("\n"))
        })
}

/// Compares what was told with what the session and the model know.
fn check_memory(
    told: &[String],
    client: &mut Zot,
    worker: &Node,
    report: &mut Report,
) -> anyhow::Result<()> {
    client.send(json!({ "id": "m", "type": "get_messages" }));
    let frames = wait(client, |frame| {
        frame["type"] == "response" && frame["id"] == "m"
    })?;
    let response = frames.last().context("a response")?;
    let known = user_texts(&response["data"]["messages"]);
    report.must(
        &format!(
            "{} of {} prompts are in the session",
            known.len(),
            told.len()
        ),
        known == told,
    );
    let requests = worker.model.requests();
    let last = requests.last().context("a request to the model")?;
    let sent = user_texts(&last.body["messages"]);
    report.must(
        &format!("{} of {} prompts reached the model", sent.len(), told.len()),
        sent == told,
    );
    Ok(())
}

/// Returns the texts of users' messages.
fn user_texts(messages: &Value) -> Vec<String> {
    let messages = messages.as_array().into_iter().flatten();
    let users = messages.filter(|message| message["role"] == "user");
    let texts = users.filter_map(|message| match &message["content"] {
        Value::String(text) => Some(text.clone()),
        blocks => Some(blocks[0]["text"].as_str()?.to_owned()),
    });
    texts.collect()
}

/// Checks that no command ran twice, and that those with a result ran.
fn check_commands(site: &Site, results: usize, report: &mut Report) -> anyhow::Result<()> {
    let text = fs::read_to_string(site.work().join(LOG))?;
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        *lines.entry(line).or_default() += 1;
    }
    let doubled: Vec<_> = lines.iter().filter(|(_, count)| **count > 1).collect();
    report.must(
        &format!(
            "of {} commands, {} ran twice {doubled:?}",
            lines.len(),
            doubled.len()
        ),
        doubled.is_empty(),
    );
    report.must(
        &format!("commands with a result: {results}"),
        results > 0 && lines.len() >= results,
    );
    Ok(())
}
