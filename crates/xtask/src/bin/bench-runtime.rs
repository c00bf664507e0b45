//! The SDK in a separate program, so that its memory and CPU time can be measured from outside.
//!
//! Reads commands from standard input, one per line, and answers each with `{"type":"done"}`: `idle N`
//! keeps N idle runtimes; `prompt TEXT` runs a prompt on a new one and counts its events.

use std::io::{BufRead, Write};

use anyhow::{Context, bail, ensure};
use zot_sdk::{AgentEvent, Config, HttpClient, ModelChoice, Runtime};

fn main() -> anyhow::Result<()> {
    let base_url = std::env::args().nth(1);
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let http = HttpClient::new();
    let make = || {
        Runtime::new(Config {
            model: ModelChoice {
                model: Some("gpt-4o".to_owned()),
                api_key: Some("x".to_owned()),
                base_url: base_url.clone(),
                ..ModelChoice::provider("openai")
            },
            http: Some(http.clone()),
            ..Config::default()
        })
    };
    let mut idle = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ').context("no argument")? {
            ("idle", count) => {
                let count: usize = count.parse()?;
                idle.reserve_exact(count.saturating_sub(idle.len()));
                while idle.len() < count {
                    idle.push(make()?);
                }
            }
            ("prompt", text) => executor.block_on(prompt(&make()?, text))?,
            (other, _) => bail!("unknown command {other:?}"),
        }
        std::io::stdout().write_all(b"{\"type\":\"done\"}\n")?;
    }
    Ok(())
}

async fn prompt(runtime: &Runtime, text: &str) -> anyhow::Result<()> {
    let mut events = runtime.prompt(text, Vec::new())?;
    let mut count = 0u64;
    while let Some(event) = events.next().await {
        if let AgentEvent::Failed(report) = event {
            bail!(report.message);
        }
        count += 1;
    }
    ensure!(count > 1, "there were no events");
    Ok(())
}
