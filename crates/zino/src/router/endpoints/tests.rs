use super::*;

fn set_up(text: &str, variables: &[(&str, &str)]) -> Result<Vec<Target>, String> {
    let config = Config::parse(text).unwrap().config;
    let environment = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    targets(&config, Duration::from_secs(1), &environment).map_err(|error| error.to_string())
}

fn error(text: &str) -> String {
    set_up(text, &[]).err().unwrap()
}

#[test]
fn errors_name_the_missing_setting() {
    assert!(error("").contains("[api] has no base_url"));
    let no_model = error("[api]\nbase_url = \"http://127.0.0.1:1/v1\"\n");
    assert!(no_model.contains("[service] model"), "{no_model}");
    let no_key = error("[api]\nprovider = \"anthropic\"\n");
    assert!(no_key.contains("ANTHROPIC_API_KEY"), "{no_key}");
    let unknown = error("[api]\nprovider = \"antropic\"\n");
    assert!(unknown.contains("did you mean \"anthropic\"?"), "{unknown}");
    let invalid = error("[api]\nbase_url = \"localhost\"\n[service]\nmodel = \"m\"\n");
    assert!(
        invalid.contains("[api] base_url \"localhost\""),
        "{invalid}"
    );
    let second = "[api]\nprovider = \"offline\"\n[[api.fallback]]\n";
    assert!(error(second).contains("[[api.fallback]] number 1 has no base_url"));
}

#[test]
fn offline_needs_nothing() {
    let targets = set_up("[api]\nprovider = \"offline\"\n", &[]).unwrap();
    assert_eq!(targets.len(), 1);
    assert_eq!(targets[0].model, "offline");
}

#[test]
fn fallbacks_have_their_own_models_and_keys() {
    let text = r#"
        [api]
        base_url = "http://127.0.0.1:1/v1"
        [[api.fallback]]
        base_url = "http://127.0.0.1:2/v1"
        [[api.fallback]]
        provider = "anthropic"
        [service]
        model = "mine"
    "#;
    let keys = [("LLM_API_KEY", "first"), ("ANTHROPIC_API_KEY", "third")];
    let targets = set_up(text, &keys).unwrap();
    let models: Vec<&str> = targets.iter().map(|target| target.model.as_str()).collect();
    assert_eq!(models, ["mine", "mine", "claude-sonnet-5-5"]);
    assert_eq!(targets[0].dialect, Dialect::Text(Ending::Anyone));
    assert_eq!(targets[2].dialect, Dialect::Text(Ending::UserOnly));
    assert!(set_up(text, &keys[..1]).is_err());
}
