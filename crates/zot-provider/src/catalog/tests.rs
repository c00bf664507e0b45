use std::fs;
use std::io::Write;

use serde_json::Value;
use tempfile::NamedTempFile;
use zot_conversation::{PriceTier, Prices, Rates, ReasoningEffort};

use super::{
    Catalog, CatalogProblem, Deprecation, Efforts, ModelInfo, OpenAiWire, Thinking, UserProvider,
    builtin,
};

/// What the original program returns for `get_models`.
const RECORDING: &str = include_str!("fixtures/get_models.jsonl");

fn models_file(content: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

fn load(content: &str) -> Catalog {
    let (catalog, said) = Catalog::load(Some(models_file(content).path()));
    let problems: Vec<String> = said.problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{problems:?}");
    catalog
}

#[test]
fn the_embedded_file_is_whole() {
    let catalog = builtin::parse(builtin::MODELS_JSON).unwrap();
    assert_eq!(catalog.snapshot().len(), "2026-11-02".len());
    for provider in [
        "anthropic",
        "openai",
        "deepseek",
        "kimi",
        "groq",
        "xai",
        "mistral",
        "openrouter",
        "offline",
    ] {
        assert!(catalog.models(provider).count() > 0, "{provider}");
    }
    assert_eq!(catalog.models("ollama").count(), 0);
    assert!(catalog.models("openrouter").count() <= 50);
    for model in &catalog.models {
        assert!(model.max_output > 0, "{}", model.id);
        assert!(model.context_window >= 2 * model.max_output, "{}", model.id);
        let same = catalog.find(&model.provider, &model.id).unwrap();
        assert!(std::ptr::eq(same, model), "{} is listed twice", model.id);
    }
}

#[test]
fn the_openai_list_begins_with_the_recorded_one() {
    let response = RECORDING
        .lines()
        .find_map(|line| line.strip_prefix("< "))
        .unwrap();
    let response: Value = serde_json::from_str(response).unwrap();
    let recorded = response["data"]["models"].as_array().unwrap();
    let catalog = Catalog::builtin();
    let mut ours = catalog.models("openai");
    for theirs in recorded {
        let model = ours.next().unwrap();
        assert_eq!(theirs["id"], *model.id);
        assert_eq!(theirs["max_output"], model.max_output, "{}", model.id);
        assert_eq!(theirs["reasoning"], model.reasoning, "{}", model.id);
    }
    let newer: Vec<&str> = ours.map(|model| model.id.as_ref()).collect();
    for id in [
        "gpt-5.3-codex",
        "gpt-5.5-pro",
        "gpt-5.6-sol",
        "gpt-6-luna",
        "gpt-6.1-sol",
    ] {
        assert!(newer.contains(&id), "{id}");
    }
}

#[test]
fn the_window_is_what_a_prompt_may_have() {
    let catalog = Catalog::builtin();
    for (provider, id, window, output) in [
        ("openai", "gpt-5", 272_000, 128_000),
        ("openai", "gpt-5-nano", 272_000, 128_000),
        ("openai", "gpt-5.2", 272_000, 128_000),
        ("openai", "gpt-6.1-sol", 922_000, 128_000),
        ("openai", "gpt-4o", 128_000, 16_384),
        ("openrouter", "openai/gpt-5", 272_000, 128_000),
        ("anthropic", "claude-haiku-4-5", 200_000, 64_000),
    ] {
        let model = catalog.find(provider, id).unwrap();
        assert_eq!(
            (model.context_window, model.max_output),
            (window, output),
            "{id}"
        );
    }
}

#[test]
fn long_prompts_have_their_own_price() {
    let catalog = Catalog::builtin();
    for (provider, id, above, [input, output, cache_read, cache_write]) in [
        (
            "anthropic",
            "claude-haiku-5-5",
            100_000,
            [0.5, 2.5, 0.05, 0.625],
        ),
        ("openai", "gpt-6.1-sol", 272_000, [4.0, 15.0, 0.2, 5.0]),
        ("openai", "gpt-5.4", 272_000, [5.0, 22.5, 0.5, 0.0]),
        ("gemini", "gemini-2.5-pro", 200_000, [2.5, 15.0, 0.25, 0.0]),
        ("xai", "grok-4.7", 200_000, [4.0, 12.0, 1.0, 0.0]),
        (
            "openrouter",
            "anthropic/claude-haiku-5.5",
            100_000,
            [0.5, 2.5, 0.05, 0.625],
        ),
    ] {
        let tier = PriceTier {
            above,
            rates: Rates {
                input,
                output,
                cache_read,
                cache_write,
            },
        };
        let model = catalog.find(provider, id).unwrap();
        assert_eq!(model.prices.tiers, [tier], "{id}");
    }
    let batch = catalog
        .find("openai", "gpt-5")
        .unwrap()
        .batch_rates
        .unwrap();
    assert_eq!((batch.input, batch.output), (0.625, 5.0));
    let first = catalog.find("openai", "gpt-5").unwrap().priority_rates;
    assert_eq!(first.unwrap().output, 20.0);
    for model in catalog.all() {
        let mut limits = model.prices.tiers.iter().map(|tier| tier.above);
        assert!(limits.clone().is_sorted(), "{}", model.id);
        assert!(
            limits.all(|limit| limit < model.context_window),
            "{}",
            model.id
        );
    }
}

/// What the data says and what the rules would say must not drift apart.
#[test]
fn the_rules_agree_with_the_data() {
    let catalog = Catalog::builtin();
    for model in catalog.models("openai").chain(catalog.models("anthropic")) {
        let unknown = ModelInfo::unknown(&model.provider, &model.id);
        assert_eq!(model.wire, unknown.wire, "{}", model.id);
        assert_eq!(model.thinking, unknown.thinking, "{}", model.id);
        if !model.reasoning {
            assert!(model.efforts.is_empty(), "{}", model.id);
            continue;
        }
        // What the rules assume is accepted; that more is accepted cannot be told from the name.
        for effort in unknown.efforts.iter() {
            assert!(model.efforts.contains(effort), "{} {effort:?}", model.id);
        }
    }
}

#[test]
fn models_that_end_have_a_replacement_that_stays() {
    let catalog = Catalog::builtin();
    let ends = |id: &str| {
        catalog
            .find_anywhere(id)
            .unwrap()
            .deprecation
            .clone()
            .unwrap()
    };
    assert_eq!(ends("claude-sonnet-4-5").ends.to_string(), "2026-11-30");
    for id in ["gpt-4.1-nano", "o1", "o3-mini", "o4-mini"] {
        assert_eq!(ends(id).ends.to_string(), "2026-10-23", "{id}");
    }
    for model in catalog.all() {
        let Some(deprecation) = &model.deprecation else {
            continue;
        };
        let replacement = deprecation.replacement.as_deref().unwrap_or_default();
        let replacement = catalog.find(&model.provider, replacement);
        let replacement = replacement.unwrap_or_else(|| panic!("{} has no replacement", model.id));
        assert_eq!(replacement.deprecation, None, "{}", model.id);
    }
}

/// Looks at the clock on purpose: it is to fail when a default has come near its end, also if nobody
/// has changed anything. The remedy is a newer default in providers.json.
#[test]
fn no_default_model_is_near_its_end() {
    let catalog = Catalog::builtin();
    for entry in crate::providers() {
        let model = catalog.find(&entry.catalog, &entry.default_model);
        if catalog.covers(&entry.catalog) {
            assert!(model.is_some(), "{} is not listed", entry.default_model);
        }
        let warning = model.and_then(|model| model.deprecation_warning(super::today()));
        assert_eq!(warning, None, "choose another default for {}", entry.name);
    }
}

/// That the test above would notice: the old default, on days around its end.
#[test]
fn a_default_near_its_end_would_be_noticed() {
    let catalog = Catalog::builtin();
    let old = catalog.find("anthropic", "claude-sonnet-4-5").unwrap();
    let warning = |day: &str| old.deprecation_warning(day.parse().unwrap());
    assert_eq!(warning("2026-09-30"), None);
    for (day, verb) in [
        ("2026-10-01", "ends"),
        ("2026-11-30", "ended"),
        ("2027-01-01", "ended"),
    ] {
        let expected = format!(
            "model \"claude-sonnet-4-5\" of anthropic {verb} on 2026-11-30; use claude-sonnet-5-5"
        );
        assert_eq!(warning(day), Some(expected));
    }
}

#[test]
fn well_known_prices_are_right() {
    let catalog = Catalog::builtin();
    for (provider, id, [input, output, cache_read, cache_write]) in [
        ("openai", "gpt-4o", [2.5, 10.0, 1.25, 0.0]),
        ("openai", "gpt-5", [1.25, 10.0, 0.125, 0.0]),
        ("anthropic", "claude-sonnet-4-5", [3.0, 15.0, 0.3, 3.75]),
        ("anthropic", "claude-opus-4-7", [5.0, 25.0, 0.5, 6.25]),
        ("offline", "offline", [0.0; 4]),
    ] {
        let rates = Rates {
            input,
            output,
            cache_read,
            cache_write,
        };
        let prices = &catalog.find(provider, id).unwrap().prices;
        assert_eq!(prices.base, rates, "{id}");
    }
}

#[test]
fn models_are_found_by_provider_or_anywhere() {
    let catalog = Catalog::builtin();
    assert!(catalog.find("openai", "claude-sonnet-4-5").is_none());
    let found = catalog.find_anywhere("claude-sonnet-4-5").unwrap();
    assert_eq!(found.provider, "anthropic");
    assert!(catalog.find_anywhere("no-such-model").is_none());
}

#[test]
fn a_misspelt_model_has_near_candidates() {
    let catalog = Catalog::builtin();
    let near = catalog.nearest("anthropic", "claude-sonet-4-5");
    assert_eq!(near.first(), Some(&"claude-sonnet-4-5"));
    assert!(near.len() <= 3);
    assert_eq!(catalog.nearest("openai", "gpt4o").first(), Some(&"gpt-4o"));
    assert!(catalog.nearest("openai", "no-such-model-at-all").is_empty());
    assert!(catalog.nearest("nobody", "gpt-4o").is_empty());
}

#[test]
fn a_user_file_overrides_single_fields() {
    let catalog = load(
        r#"{"providers":{"openai":{"models":[
            {"id":"gpt-4o","contextWindow":64000,"priceOutput":9.5,"baseUrl":"http://localhost:1/v1","note":"mine"}
        ]}}}"#,
    );
    let before = Catalog::builtin();
    let expected = ModelInfo {
        context_window: 64_000,
        prices: Prices::from(Rates {
            output: 9.5,
            ..before.find("openai", "gpt-4o").unwrap().prices.base
        }),
        base_url: Some("http://localhost:1/v1".to_owned()),
        own_server: true,
        ..before.find("openai", "gpt-4o").unwrap().clone()
    };
    assert_eq!(catalog.find("openai", "gpt-4o"), Some(&expected));
    let ids = |catalog: &Catalog| -> Vec<String> {
        let models = catalog.models("openai");
        models.map(|model| model.id.to_string()).collect()
    };
    assert_eq!(ids(&catalog), ids(&before), "order and number stay");
}

#[test]
fn a_user_file_adds_models_and_providers() {
    let catalog = load(
        r#"{"providers":{
            "ollama":{"models":[{"id":"qwen3:8b"},{"id":"llama","name":"Llama","reasoning":true,"maxTokens":1000,
                "contextWindow":0,"priceInput":1,"priceCacheRead":0.5,"priceCacheWrite":2}]},
            "openai":{"models":[{"id":"gpt-9"}]}
        }}"#,
    );
    assert_eq!(
        catalog.find("ollama", "qwen3:8b"),
        Some(&ModelInfo::unknown("ollama", "qwen3:8b"))
    );
    let llama = ModelInfo {
        name: "Llama".into(),
        reasoning: true,
        max_output: 1000,
        prices: Prices::from(Rates {
            input: 1.0,
            output: 0.0,
            cache_read: 0.5,
            cache_write: 2.0,
        }),
        ..ModelInfo::unknown("ollama", "llama")
    };
    assert_eq!(catalog.find("ollama", "llama"), Some(&llama));
    let last = catalog.models("openai").last().unwrap();
    assert_eq!(last.id, "gpt-9");
}

#[test]
fn a_user_file_says_what_a_model_accepts() {
    let catalog = load(
        r#"{"providers":{"openai":{"models":[
            {"id":"house-large","wire":"openai-responses","thinking":"adaptive","efforts":["low","xhigh"],
             "priceInput":1,"priceTiers":[{"above":200000,"input":3,"cacheRead":0.3},{"above":100000,"input":2}],
             "deprecated":{"ends":"2027-02-28","replacement":"house-larger"}},
            {"id":"gpt-5.4","wire":"openai","efforts":[]}
        ]}}}"#,
    );
    let tier = |above, input, cache_read| PriceTier {
        above,
        rates: Rates {
            input,
            cache_read,
            ..Rates::default()
        },
    };
    let expected = ModelInfo {
        prices: Prices {
            base: Rates {
                input: 1.0,
                ..Rates::default()
            },
            tiers: vec![tier(100_000, 2.0, 0.0), tier(200_000, 3.0, 0.3)],
        },
        wire: Some(OpenAiWire::Responses),
        thinking: Thinking::Adaptive,
        efforts: Efforts::of(&[ReasoningEffort::Low, ReasoningEffort::Xhigh]),
        deprecation: Some(Deprecation {
            ends: "2027-02-28".parse().unwrap(),
            replacement: Some("house-larger".into()),
        }),
        ..ModelInfo::unknown("openai", "house-large")
    };
    assert_eq!(catalog.find("openai", "house-large"), Some(&expected));
    let known = catalog.find("openai", "gpt-5.4").unwrap();
    assert_eq!(known.wire, Some(OpenAiWire::Chat));
    assert!(known.efforts.is_empty());
}

#[test]
fn a_price_of_the_user_holds_for_prompts_of_any_length() {
    let mut models = vec![ModelInfo {
        prices: Prices {
            tiers: vec![PriceTier {
                above: 100,
                rates: Rates::default(),
            }],
            ..Prices::default()
        },
        ..ModelInfo::unknown("x", "m")
    }];
    let file = models_file(r#"{"providers":{"x":{"models":[{"id":"m","name":"M"}]}}}"#);
    super::user_file::merge(file.path(), &mut models);
    assert_eq!(models[0].prices.tiers.len(), 1);
    let file = models_file(r#"{"providers":{"x":{"models":[{"id":"m","priceOutput":3}]}}}"#);
    super::user_file::merge(file.path(), &mut models);
    assert!(models[0].prices.tiers.is_empty());
}

#[test]
fn values_that_no_model_has_are_named() {
    for (field, word) in [
        (r#""wire":"gemini""#, "openai-responses"),
        (r#""thinking":"on""#, "adaptive"),
        (r#""efforts":["most"]"#, "xhigh"),
        (r#""deprecated":{"ends":"soon"}"#, "soon"),
        (r#""priceTiers":[{"above":1,"input":-1}]"#, "priceTiers"),
    ] {
        let content = format!(r#"{{"providers":{{"x":{{"models":[{{"id":"m",{field}}}]}}}}}}"#);
        let (_, problems) = doubtful(&content);
        assert!(problems[0].contains(word), "{field}: {problems:?}");
    }
}

#[test]
fn models_can_be_shared_with_another_provider() {
    let mut catalog =
        load(r#"{"providers":{"twin":{"models":[{"id":"gpt-4o","contextWindow":1}]}}}"#);
    catalog.share("openai", "twin");
    let count = catalog.models("openai").count();
    assert_eq!(catalog.models("twin").count(), count);
    assert_eq!(catalog.find("twin", "gpt-4o").unwrap().context_window, 1);
    let expected = ModelInfo {
        provider: "twin".into(),
        wire: None,
        ..catalog.find("openai", "gpt-5").unwrap().clone()
    };
    assert_eq!(catalog.find("twin", "gpt-5"), Some(&expected));
    assert_eq!(catalog.find_anywhere("gpt-5").unwrap().provider, "openai");
}

#[test]
fn no_file_means_the_built_in_models() {
    let directory = tempfile::tempdir().unwrap();
    let count = Catalog::builtin().models.len();
    let missing = directory.path().join("models.json");
    assert_eq!(Catalog::load(None).0.models.len(), count);
    assert_eq!(Catalog::load(Some(&missing)).0.models.len(), count);
    for empty in [
        "{}",
        r#"{"providers":{}}"#,
        r#"{"providers":{"x":{}}}"#,
        r#"{"providers":null}"#,
    ] {
        assert_eq!(load(empty).models.len(), count);
    }
}

/// What is said about a file of which something cannot be used, and the rest of it.
fn doubtful(content: &str) -> (Catalog, Vec<String>) {
    let file = models_file(content);
    let (catalog, said) = Catalog::load(Some(file.path()));
    let problems: Vec<String> = said.problems.iter().map(ToString::to_string).collect();
    for problem in &problems {
        let name = file.path().display().to_string();
        assert!(problem.contains(&name), "{problem}");
    }
    (catalog, problems)
}

#[test]
fn a_file_that_is_not_json_is_named_with_its_line() {
    let count = Catalog::builtin().models.len();
    for (content, part) in [
        ("{\"providers\":\n  {\"openai\": }}", "line 2"),
        ("", "line 1"),
        ("[1]", "expected a JSON object"),
        (r#"{"providers":[]}"#, "got a list"),
    ] {
        let (catalog, problems) = doubtful(content);
        assert_eq!(catalog.models.len(), count);
        let [problem] = problems.as_slice() else {
            panic!("{content}: {problems:?}");
        };
        assert!(problem.contains(part), "{content:?}: {problem}");
    }
}

#[test]
fn what_is_wrong_is_left_out_and_the_rest_stays() {
    for (bad, parts) in [
        (r#"{"name":"n"}"#, &["model number 1", "\"id\""][..]),
        (r#"{"id":""}"#, &["\"id\""]),
        (r#"{"id":7}"#, &["\"id\"", "got 7"]),
        ("5", &["expected an object, got a number"]),
        (
            r#"{"id":"m","baseUrl":[]}"#,
            &["\"m\"", "baseUrl", "left out"],
        ),
    ] {
        let (catalog, problems) = doubtful(&format!(
            r#"{{"providers":{{"x":{{"models":[{bad},{{"id":"good"}}]}},"y":{{"models":[{{"id":"z"}}]}}}}}}"#
        ));
        assert!(catalog.find("x", "good").is_some(), "{bad}");
        assert!(catalog.find("y", "z").is_some(), "{bad}");
        assert!(catalog.find("x", "m").is_none(), "{bad}");
        let problems = problems.join("\n");
        for part in parts {
            assert!(problems.contains(part), "{part:?} is not in {problems}");
        }
    }
}

#[test]
fn a_field_that_makes_no_sense_is_ignored_alone() {
    for (field, part) in [
        (r#""contextWindow":"big""#, "a string"),
        (r#""contextWindow":-5"#, "-5"),
        (r#""maxTokens":1.5"#, "1.5"),
        (r#""priceInput":-1"#, "priceInput"),
        (r#""reasoning":"yes""#, "reasoning"),
        (r#""toolDialect":"klingon""#, "klingon"),
        (r#""name":{}"#, "an object"),
    ] {
        let (catalog, problems) = doubtful(&format!(
            r#"{{"providers":{{"x":{{"models":[{{"id":"m",{field},"priceOutput":2}}]}}}}}}"#
        ));
        let expected = ModelInfo {
            prices: Prices::from(Rates {
                output: 2.0,
                ..Rates::default()
            }),
            ..ModelInfo::unknown("x", "m")
        };
        assert_eq!(catalog.find("x", "m"), Some(&expected), "{field}");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(part), "{problems:?}");
    }
}

#[test]
fn files_of_the_original_are_understood() {
    let file = models_file(
        r#"{"providers":{
            "openai-codex":{"models":[{"id":"a","name":"","input":["text"],"api":"whatever","priceInput":0,
                "contextWindow":128000.0,"baseUrl":""}]},
            "openai-responses":{"models":[{"id":"b"}]},
            "anthropic-messages":{"models":[{"id":"c"}]},
            "moonshot":{"models":[{"id":"d"}]},
            "google":{"models":[{"id":"e"}]},
            "deepseek-chat":{"models":[{"id":"f"}]},
            "my-company":{"baseUrl":"https://llm.example/v1","api":"anthropic-messages","auth":"none",
                "models":[{"id":"g"},{"id":"h","baseUrl":"http://other"}]},
            "local":{"models":[{"id":"i"},{"id":"j","baseUrl":"http://box:1"}]}
        }}"#,
    );
    let (catalog, said) = Catalog::load(Some(file.path()));
    assert!(said.problems.is_empty(), "{:?}", said.problems);
    for (provider, id) in [
        ("openai", "a"),
        ("openai", "b"),
        ("anthropic", "c"),
        ("kimi", "d"),
        ("gemini", "e"),
        ("deepseek", "f"),
    ] {
        assert!(catalog.find(provider, id).is_some(), "{provider} {id}");
    }
    assert_eq!(catalog.find("openai", "a").unwrap().context_window, 128_000);
    assert_eq!(catalog.find("openai", "a").unwrap().base_url, None);
    let url = |id| catalog.find("my-company", id).unwrap().base_url.clone();
    assert_eq!(url("g").as_deref(), Some("https://llm.example/v1"));
    assert_eq!(url("h").as_deref(), Some("http://other"));
    let company = UserProvider {
        name: "my-company".to_owned(),
        base_url: Some("https://llm.example/v1".to_owned()),
        is_for_all: true,
        wire: Some(crate::Wire::Anthropic),
        keyless: true,
        first_model: Some("g".to_owned()),
    };
    let local = UserProvider {
        name: "local".to_owned(),
        base_url: Some("http://box:1".to_owned()),
        is_for_all: false,
        wire: None,
        keyless: false,
        first_model: Some("i".to_owned()),
    };
    let mut providers = said.providers;
    providers.sort_by(|a, b| b.name.cmp(&a.name));
    assert_eq!(providers, [company, local]);
    let (_, problems) = doubtful(r#"{"providers":{"x":{"baseUrl":"http://x","api":"grpc"}}}"#);
    assert!(problems[0].contains("grpc") && problems[0].contains("using openai"));
}

#[test]
fn models_that_the_original_knows_are_known() {
    let catalog = Catalog::builtin();
    for (provider, ids) in [
        (
            "anthropic",
            "claude-sonnet-4-5 claude-opus-4-1 claude-opus-4-0 claude-sonnet-4-0 claude-haiku-4-5 \
             claude-3-7-sonnet-20250219 claude-3-5-sonnet-20241022 claude-3-5-haiku-latest \
             claude-3-opus-20240229 claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-sonnet-4-6",
        ),
        (
            "openai",
            "gpt-5 gpt-5-mini gpt-5-nano gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-mini o4-mini o3 \
             o3-mini o1 gpt-5.1 gpt-5.2 gpt-5.3 gpt-5.4 gpt-5.4-mini gpt-5.5",
        ),
        ("deepseek", "deepseek-v4-pro deepseek-v4-flash"),
        ("kimi", "kimi-for-coding"),
        (
            "gemini",
            "gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite gemini-2.0-flash gemini-2.0-flash-lite",
        ),
    ] {
        for id in ids.split_whitespace() {
            assert!(catalog.find(provider, id).is_some(), "{provider} {id}");
        }
    }
    let coding = catalog.find("kimi", "kimi-for-coding").unwrap();
    let url = coding.base_url.as_deref();
    assert_eq!(url, Some("https://api.kimi.com/coding/v1"));
    assert!(!coding.own_server);
}

#[test]
fn an_unreadable_file_leaves_the_built_in_models() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("models.json");
    fs::create_dir(&path).unwrap();
    let huge = models_file(&" ".repeat((4 << 20) + 1));
    for path in [path.as_path(), huge.path()] {
        let (catalog, said) = Catalog::load(Some(path));
        assert_eq!(catalog.models.len(), Catalog::builtin().models.len());
        assert!(matches!(
            said.problems.as_slice(),
            [CatalogProblem::Unreadable { .. }]
        ));
    }
}
