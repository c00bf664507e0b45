//! Many agents in one process: each has a transcript of its own, all share what can be shared.
//!
//! ```sh
//! cargo run --release -p zot-example-sdk --bin many_agents -- 1000
//! ```

use std::error::Error;
use std::sync::Arc;

use tokio::task::JoinSet;
use zot_sdk::{AgentEvent, Config, HttpClient, ModelChoice, Runtime};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 100,
    };
    // Without it each would have connections of its own.
    let http = HttpClient::new();
    let mut agents = Vec::with_capacity(count);
    for _ in 0..count {
        agents.push(Arc::new(Runtime::new(Config {
            model: ModelChoice::provider("offline"),
            http: Some(http.clone()),
            ..Config::default()
        })?));
    }
    eprintln!("{count} agents");
    let mut work = JoinSet::new();
    for (number, agent) in agents.iter().enumerate() {
        let agent = Arc::clone(agent);
        work.spawn(async move {
            let mut events = agent.prompt(&format!("I am number {number}"), Vec::new())?;
            let mut answer = String::new();
            while let Some(event) = events.next().await {
                if let AgentEvent::TextDelta(delta) = event {
                    answer.push_str(&delta);
                }
            }
            Ok::<_, zot_sdk::Busy>(answer)
        });
    }
    let mut bytes = 0;
    while let Some(answer) = work.join_next().await {
        bytes += answer??.len();
    }
    let messages: usize = agents.iter().map(|agent| agent.state().message_count).sum();
    println!("{count} agents answered {bytes} bytes; {messages} messages are kept");
    Ok(())
}
