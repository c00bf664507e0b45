//! Nothing runs unless someone at the terminal says yes, and some things never run.
//!
//! ```sh
//! cargo run -p zot-example-sdk --bin approval -- "run: echo hello"
//! ```

use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::Arc;

use zot_sdk::{
    AgentEvent, ApprovalPolicy, ApprovalScope, BoxFuture, Config, Decision, Hooks, ModelChoice,
    Runtime, ToolCall, ToolChoice, ToolVerdict,
};

/// What no answer of a person can allow.
struct Policy;

impl Hooks for Policy {
    fn before_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        Box::pin(async move {
            match call.arguments.json() {
                Ok(arguments) if arguments.get().contains("sudo") => ToolVerdict::Block {
                    reason: "this program never runs sudo".to_owned(),
                },
                _ => ToolVerdict::Proceed,
            }
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().nth(1).ok_or("usage: approval PROMPT")?;
    let runtime = Runtime::new(Config {
        model: ModelChoice::provider("offline"),
        tools: ToolChoice {
            approval: ApprovalPolicy {
                scope: ApprovalScope::AllTools,
                ..ApprovalPolicy::default()
            },
            ..ToolChoice::default()
        },
        hooks: Some(Arc::new(Policy)),
        ..Config::default()
    })?;
    let mut events = runtime.prompt(&prompt, Vec::new())?;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::ConfirmationRequested { call, preview } => {
                let decision = ask(&call.name, preview.as_deref().unwrap_or("?")).await?;
                runtime.confirm(call.id.as_str(), decision)?;
            }
            AgentEvent::TextDelta(delta) => print!("{delta}"),
            _ => {}
        }
    }
    println!();
    Ok(())
}

/// Asks at the terminal. The agent waits; a program with other things to do would ask elsewhere.
async fn ask(tool: &str, preview: &str) -> Result<Decision, Box<dyn Error>> {
    eprint!("{tool}: {preview}\nrun it? [y/N] ");
    std::io::stderr().flush()?;
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    Ok(match answer.await??.trim() {
        "y" | "yes" => Decision::allow(),
        _ => Decision::deny("the user said no"),
    })
}
