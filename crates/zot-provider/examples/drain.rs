//! Measures what reading a long response costs, and what sending a long transcript again does.
//!
//! Start `fakellm.py --port 9000`, then
//! `cargo run --profile dist -p zot-provider --example drain -- openai http://127.0.0.1:9000/v1 20000 0`.

#![allow(clippy::print_stdout, reason = "a measurement prints its figures")]

use std::error::Error;
use std::future::poll_fn;
use std::sync::Arc;

use zot_conversation::{Message, Model, ModelEvent, ModelRequest, Sampling, Timestamp};
use zot_provider::{AnthropicClient, Endpoint, HttpClient, OpenAiClient, OpenAiQuirks};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: drain openai|anthropic BASE_URL DELTAS EARLIER_MESSAGES";
    let provider = arguments.next().ok_or(usage)?;
    let base_url = arguments.next().ok_or(usage)?;
    let deltas: u64 = arguments.next().ok_or(usage)?.parse()?;
    let earlier: usize = arguments.next().ok_or(usage)?.parse()?;

    let endpoint = Endpoint {
        provider: provider.clone(),
        base_url,
        api_key: None,
    };
    let http = HttpClient::new();
    let model: Box<dyn Model> = match provider.as_str() {
        "openai" => Box::new(OpenAiClient::new(http, endpoint, OpenAiQuirks::COMPATIBLE)),
        "anthropic" => Box::new(AnthropicClient::new(http, endpoint)),
        _ => return Err(usage.into()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(drain(model.as_ref(), deltas, earlier))
}

async fn drain(model: &dyn Model, deltas: u64, earlier: usize) -> Result<(), Box<dyn Error>> {
    let message = |text: String| Arc::new(Message::user_text(text, Timestamp::now()));
    let mut messages: Vec<_> = (0..earlier)
        .map(|index| message(format!("message {index} {}", "of some length ".repeat(20))))
        .collect();
    messages.push(message(format!("say:{deltas}")));
    let request = ModelRequest {
        model: "fake-model",
        system: "",
        messages: &messages,
        tools: &[],
        reasoning: None,
        max_output: 1000,
        sampling: Sampling::default(),
    };
    for _ in 0..ROUNDS {
        let before = cpu_milliseconds()?;
        let mut stream = model.stream(request);
        let mut received = 0u64;
        while let Some(event) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
            if let ModelEvent::TextDelta(_) = event? {
                received += 1;
            }
        }
        let spent = cpu_milliseconds()? - before;
        println!("{received} deltas, {spent:.2} ms CPU");
    }
    Ok(())
}

/// CPU time of the one thread this program has.
fn cpu_milliseconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().ok_or("empty schedstat")?.parse()?;
    Ok(nanoseconds / 1e6)
}
