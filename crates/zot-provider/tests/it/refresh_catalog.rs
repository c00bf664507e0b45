//! `scripts/refresh-catalog` on made-up sources: what it takes, and where it says they disagree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const PI_FILES: [&str; 10] = [
    "anthropic",
    "openai",
    "deepseek",
    "moonshotai",
    "google",
    "cerebras",
    "groq",
    "xai",
    "mistral",
    "openrouter",
];

fn write(path: PathBuf, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A model as pi-ai describes one.
fn pi_model(id: &str, window: u64, output: u64, cost: Value, levels: Value) -> Value {
    json!({
        "type": "chat", "id": id, "name": id.to_uppercase(), "contextWindow": window, "maxTokens": output,
        "reasoning": true, "cost": cost, "thinkingLevelMap": levels,
    })
}

fn sources(directory: &Path) {
    let pi = directory.join("pi-ai/package/dist/providers/data");
    for name in PI_FILES {
        write(pi.join(format!("{name}.json")), "{}");
    }
    let tiered = json!({"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0,
        "tiers": [{"inputTokensAbove": 200_000, "input": 2, "output": 4, "cacheRead": 0.2, "cacheWrite": 0}]});
    let levels = json!({"off": null, "minimal": null, "low": "low", "medium": null, "high": "high", "max": "max"});
    let grok = pi_model("grok-9", 400_000, 400_000, tiered, levels.clone());
    let lonely = pi_model(
        "grok-8",
        100_000,
        10_000,
        json!({"input": 5, "output": 6}),
        levels,
    );
    write(
        pi.join("xai.json"),
        json!({"chat": {"grok-9": grok, "grok-8": lonely}}).to_string(),
    );
    let gpt = pi_model(
        "gpt-5-x",
        400_000,
        128_000,
        json!({"input": 3, "output": 30}),
        Value::Null,
    );
    write(
        pi.join("openai.json"),
        json!({"chat": {"gpt-5-x": gpt}}).to_string(),
    );
    write(
        directory.join("litellm/litellm/model_prices_and_context_window_backup.json"),
        json!({
            "xai/grok-9": {
                "litellm_provider": "xai", "mode": "chat", "max_input_tokens": 400_000, "supports_reasoning": true,
                "input_cost_per_token": 1.5e-6, "output_cost_per_token": 2e-6, "cache_read_input_token_cost": 1e-7,
                "input_cost_per_token_above_200k_tokens": 2e-6, "output_cost_per_token_above_200k_tokens": 4e-6,
                "cache_read_input_token_cost_above_200k_tokens": 2e-7,
                "input_cost_per_token_batches": 5e-7, "output_cost_per_token_batches": 1e-6,
                "input_cost_per_token_priority": 9e-6, "deprecation_date": "2027-01-31",
            },
        })
        .to_string(),
    );
    write(
        directory.join("genai-prices/genai_prices/data.py"),
        "providers: list[Provider] = [Provider(id='x-ai', models=[ModelInfo(id='grok-9', context_window=400000,\n\
         prices=[ConditionalPrice(prices=ModelPrice(input_mtok=Decimal('9'))),\n\
         ConditionalPrice(constraint=StartDateConstraint(start_date=datetime.date(2026, 1, 1)),\n\
         prices=ModelPrice(input_mtok=TieredPrices(base=Decimal('1'), tiers=[Tier(start=200000, price=Decimal('2'))]),\n\
         output_mtok=TieredPrices(base=Decimal('2'), tiers=[Tier(start=200000, price=Decimal('4'))]),\n\
         cache_read_mtok=TieredPrices(base=Decimal('0.1'), tiers=[Tier(start=200000, price=Decimal('0.2'))])))])])]\n",
    );
    write(
        directory.join("openai-sdk/package/resources/shared.d.ts"),
        "export type ChatModel = 'gpt-5-x' | 'gpt-6-unheard';\nexport type ResponsesModel = ChatModel;\n",
    );
}

fn refresh(directory: &Path, decisions: &Value) -> (Output, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/refresh-catalog");
    write(directory.join("decisions.json"), decisions.to_string());
    let written = directory.join("models.json");
    let output = Command::new("python3")
        .arg(script)
        .arg("--report")
        .arg("--sources")
        .arg(directory)
        .arg("--decisions")
        .arg(directory.join("decisions.json"))
        .arg("--kept")
        .arg(directory.join("none.json"))
        .arg("--output")
        .arg(&written)
        .output()
        .unwrap();
    let text = fs::read_to_string(&written).unwrap_or_default();
    (output, text)
}

#[test]
fn sources_are_merged_and_their_disagreements_named() {
    let directory = tempfile::tempdir().unwrap();
    sources(directory.path());
    let mut decisions = json!({
        "date": "2026-11-16", "sources": {"pi-ai": "1"}, "openrouter": [],
        "replacements": {"grok-9": "grok-10"},
    });
    let (output, text) = refresh(directory.path(), &decisions);
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{report}");
    let catalog: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(catalog["snapshot"], "2026-11-16");
    let models = |catalog: &Value, provider: &str| -> Vec<Value> {
        let mut providers = catalog["providers"].as_array().unwrap().iter();
        let found = providers.find(|entry| entry["provider"] == provider);
        found.unwrap()["models"].as_array().unwrap().clone()
    };
    assert_eq!(
        models(&catalog, "xai"),
        [
            json!({
                "id": "grok-8", "name": "GROK-8", "window": 100_000, "output": 10_000, "reasoning": true,
                "price": [5, 6], "efforts": "low high max",
            }),
            json!({
                "id": "grok-9", "name": "GROK-9", "window": 400_000, "output": 50_000, "reasoning": true,
                "price": [1, 2, 0.1], "tiers": [[200_000, 2, 4, 0.2, 0]], "batch": [0.5, 1], "efforts": "low high max",
                "deprecated": {"ends": "2027-01-31", "replacement": "grok-10"},
            }),
        ],
        "two of three agree, and a price for input alone is none"
    );
    let gpt = models(&catalog, "openai").pop().unwrap();
    assert_eq!(
        (&gpt["id"], &gpt["window"]),
        (&json!("gpt-5-x"), &json!(272_000))
    );
    assert_eq!(gpt["wire"], "openai");
    assert!(
        report.contains("xai grok-9: rates: pi-ai [1, 2, 0.1, 0]; litellm [1.5, 2, 0.1, 0]; genai-prices [1, 2, 0.1, 0]: taken [1, 2, 0.1, 0]"),
        "{report}"
    );
    assert!(
        !report.contains("grok-8"),
        "one source cannot disagree: {report}"
    );
    assert!(
        report.contains("openai gpt-6-unheard: its vendor's client knows it"),
        "{report}"
    );

    let (_, again) = refresh(directory.path(), &decisions);
    assert_eq!(again, text, "the same sources make the same file");

    decisions["models"] = json!({"xai": {"grok-9": {"rates": [7, 8, 0, 0], "why": "a test"}}});
    let (output, text) = refresh(directory.path(), &decisions);
    let catalog: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(models(&catalog, "xai")[1]["price"], json!([7, 8]));
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(
        !report.contains("grok-9: rates"),
        "what is decided is settled: {report}"
    );
}
