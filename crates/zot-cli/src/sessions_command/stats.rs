//! `zot sessions stats`.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde_json::{Value, json};
use zot_sdk::sessions::Summary;

use super::table::{self, Align};
use super::{Failure, ListArguments, Place};
use crate::output::say_json;

/// What some sessions come to.
#[derive(Default)]
struct Sum {
    sessions: u64,
    prompts: u64,
    messages: u64,
    input: u64,
    output: u64,
    cost_usd: f64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, summary: &Summary) {
        self.sessions += 1;
        self.prompts += summary.prompts;
        self.messages += summary.messages;
        self.input += summary.input_tokens + summary.cache_read_tokens + summary.cache_write_tokens;
        self.output += summary.output_tokens;
        self.cost_usd += summary.cost_usd;
        self.bytes += summary.bytes;
    }

    fn row(&self, name: &str) -> Vec<String> {
        let mut row = vec![name.to_owned()];
        let counts = [
            self.sessions,
            self.prompts,
            self.messages,
            self.input,
            self.output,
        ];
        row.extend(counts.map(|count| count.to_string()));
        row.push(format!("${:.4}", self.cost_usd));
        row.push(format!("{} KiB", self.bytes.div_ceil(1024)));
        row
    }

    fn value(&self) -> Value {
        json!({
            "sessions": self.sessions,
            "prompts": self.prompts,
            "messages": self.messages,
            "prompt_tokens": self.input,
            "output_tokens": self.output,
            "cost_usd": self.cost_usd,
            "bytes": self.bytes,
        })
    }
}

pub(super) fn run(place: &Place, arguments: &ListArguments) -> Result<(), Failure> {
    let mut total = Sum::default();
    let mut models: BTreeMap<String, Sum> = BTreeMap::new();
    for summary in place.list(arguments.all)? {
        total.add(&summary);
        // The model a session began with: switches are not in the file.
        let model = format!("{} {}", summary.provider, summary.model);
        models.entry(model).or_default().add(&summary);
    }
    if arguments.json {
        let models: serde_json::Map<String, Value> = models
            .iter()
            .map(|(model, sum)| (model.clone(), sum.value()))
            .collect();
        let mut value = total.value();
        value["models"] = Value::Object(models);
        return Ok(say_json(&value)?);
    }
    let headings = [
        ("MODEL", Align::Left),
        ("SESSIONS", Align::Right),
        ("PROMPTS", Align::Right),
        ("MESSAGES", Align::Right),
        ("TOKENS IN", Align::Right),
        ("OUT", Align::Right),
        ("COST", Align::Right),
        ("ON DISK", Align::Right),
    ];
    let mut rows: Vec<_> = models.iter().map(|(model, sum)| sum.row(model)).collect();
    rows.push(total.row("all"));
    let mut output = zot_terminal::buffered_stdout();
    table::write(&mut output, &headings, &rows)?;
    Ok(output.flush()?)
}
