//! The smallest program with an agent in it: one prompt, the answer as it comes.
//!
//! ```sh
//! cargo run -p zot-example-sdk --bin minimal -- "list the files here"
//! ```

use std::error::Error;
use std::io::Write;

use zot_sdk::{AgentEvent, Config, ModelChoice, Runtime};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().nth(1).ok_or("usage: minimal PROMPT")?;
    let runtime = Runtime::new(Config {
        // Leave this out and the first provider with a key is used.
        model: ModelChoice::provider("offline"),
        ..Config::default()
    })?;
    let mut events = runtime.prompt(&prompt, Vec::new())?;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::TextDelta(delta) => {
                print!("{delta}");
                std::io::stdout().flush()?;
            }
            AgentEvent::ToolCallRequested(call) => {
                eprintln!("[{} {}]", call.name, call.arguments.json_or_empty());
            }
            AgentEvent::Failed(report) => return Err(report.message.into()),
            _ => {}
        }
    }
    println!();
    eprintln!("[{} tokens]", runtime.cost().output);
    Ok(())
}
