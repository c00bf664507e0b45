//! `zot sessions stats`.

use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::sessions::{Statistics, Totals, statistics};

use super::ListArguments;
use super::table::{self, Align};
use crate::failure::Failure;
use crate::output::{print, print_json};

const HEADINGS: [(&str, Align); 8] = [
    ("MODEL", Align::Left),
    ("SESSIONS", Align::Right),
    ("PROMPTS", Align::Right),
    ("MESSAGES", Align::Right),
    ("TOKENS IN", Align::Right),
    ("OUT", Align::Right),
    ("COST", Align::Right),
    ("ON DISK", Align::Right),
];

pub(super) fn run(workspace: &Workspace, arguments: &ListArguments) -> Result<(), Failure> {
    let Statistics { total, by_model } = statistics(workspace, arguments.scope())?;
    if arguments.json {
        let models = by_model.iter();
        let models = models.map(|(model, totals)| (model.clone(), as_json(totals)));
        let mut value = as_json(&total);
        value["models"] = Value::Object(models.collect());
        return print_json(&value);
    }
    let models = by_model.iter();
    let mut rows: Vec<_> = models.map(|(model, totals)| row(model, totals)).collect();
    rows.push(row("all", &total));
    print(|output| table::write(output, &HEADINGS, &rows))
}

fn row(name: &str, totals: &Totals) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    let counts = [
        totals.sessions,
        totals.prompts,
        totals.messages,
        totals.prompt_tokens,
        totals.output_tokens,
    ];
    row.extend(counts.map(|count| count.to_string()));
    row.push(format!("${:.4}", totals.cost_usd));
    row.push(format!("{} KiB", totals.bytes.div_ceil(1024)));
    row
}

fn as_json(totals: &Totals) -> Value {
    json!({
        "sessions": totals.sessions,
        "prompts": totals.prompts,
        "messages": totals.messages,
        "prompt_tokens": totals.prompt_tokens,
        "output_tokens": totals.output_tokens,
        "cost_usd": totals.cost_usd,
        "bytes": totals.bytes,
    })
}
