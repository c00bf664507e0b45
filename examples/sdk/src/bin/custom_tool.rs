//! Tools of your own: one from a closure, one from a type that keeps state.
//!
//! ```sh
//! cargo run -p zot-example-sdk --bin custom_tool -- 'call add_note {"text": "buy milk"}'
//! ```

use std::error::Error;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use zot_sdk::{
    AgentEvent, Config, FunctionTool, ModelChoice, Runtime, ToolChoice, ToolContext, ToolSelection,
    TypedTool,
};

#[derive(Deserialize, JsonSchema)]
struct Route {
    /// Where it begins
    from: String,
    /// Where it ends
    to: String,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    /// What to remember
    text: String,
}

/// Remembers notes for as long as the program runs.
#[derive(Default)]
struct Notebook(Mutex<Vec<String>>);

impl TypedTool for Notebook {
    const NAME: &'static str = "add_note";
    const DESCRIPTION: &'static str = "Remembers a note.";
    type Arguments = Note;
    type Output = Result<String, String>;

    async fn run(&self, note: Note, context: ToolContext) -> Self::Output {
        context.report("writing it down\n").await;
        if note.text.trim().is_empty() {
            return Err("the note is empty".to_owned());
        }
        let mut notes = self.0.lock().map_err(|error| error.to_string())?;
        notes.push(note.text);
        Ok(format!("there are {} notes now", notes.len()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().nth(1).ok_or("usage: custom_tool PROMPT")?;
    let distance = FunctionTool::new("distance", "How far it is.", |route: Route| async move {
        // An error is read by the model, not by you.
        match (route.from.as_str(), route.to.as_str()) {
            ("Bonn", "Berlin") | ("Berlin", "Bonn") => Ok("478 km"),
            _ => Err(format!("no road from {} to {}", route.from, route.to)),
        }
    })?
    .read_only();
    let runtime = Runtime::new(Config {
        model: ModelChoice::provider("offline"),
        tools: ToolChoice {
            custom: vec![
                Arc::new(distance),
                Arc::new(FunctionTool::from_type(Notebook::default())?),
            ],
            // Only these: no shell, no files.
            selection: ToolSelection::Only(vec!["distance".to_owned(), "add_note".to_owned()]),
            ..ToolChoice::default()
        },
        ..Config::default()
    })?;
    let mut events = runtime.prompt(&prompt, Vec::new())?;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::ToolProgress { text, .. } => eprint!("[{}]", text.trim_end()),
            AgentEvent::TextDelta(delta) => print!("{delta}"),
            _ => {}
        }
    }
    println!();
    Ok(())
}
