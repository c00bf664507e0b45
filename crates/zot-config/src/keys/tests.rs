use serde_json::json;

use super::{KEYS, key, nearest};
use crate::ConfigError;

#[test]
fn values_are_parsed_as_people_write_them() {
    for (name, text, expected) in [
        ("provider", " openai ", json!("openai")),
        ("max_steps", "7", json!(7)),
        ("max-steps", "7", json!(7)),
        ("max_cost_usd", "0.50", json!(0.5)),
        ("tools", "read, bash", json!(["read", "bash"])),
        ("tools", "", json!([])),
        ("tools", r#"["read"]"#, json!(["read"])),
        ("session", "off", json!(false)),
        ("session", "true", json!(true)),
        ("reasoning", "HIGH", json!("high")),
        ("reasoning", "maximum", json!("high")),
        ("reasoning", "off", json!(null)),
        ("provider", " ", json!(null)),
        ("max_steps", "", json!(null)),
    ] {
        assert_eq!(
            key(name).unwrap().parse(text).unwrap(),
            expected,
            "{name}={text}"
        );
    }
    for (name, text) in [
        ("max_steps", "0"),
        ("max_steps", "many"),
        ("max_steps", "4294967296"),
        ("max_cost_usd", "-1"),
        ("reasoning", "hard"),
        ("session", "perhaps"),
        ("tools", "[1]"),
    ] {
        let problem = key(name).unwrap().parse(text).unwrap_err();
        assert!(problem.starts_with("must be"), "{name}={text}: {problem}");
    }
}

#[test]
fn an_unknown_name_gets_a_suggestion() {
    let error = key("max_step").unwrap_err();
    assert!(matches!(
        error,
        ConfigError::UnknownKey {
            nearest: Some("max_steps"),
            ..
        }
    ));
    assert_eq!(nearest("provder"), Some("provider"));
    assert_eq!(nearest("Model"), Some("model"));
    assert_eq!(nearest("colours"), None);
}

#[test]
fn a_project_cannot_exceed_the_users_limits() {
    let steps = key("max_steps").unwrap();
    assert_eq!(steps.tightened(json!(5), Some(&json!(9))), json!(5));
    assert_eq!(steps.tightened(json!(50), Some(&json!(9))), json!(9));
    assert_eq!(steps.tightened(json!(50), None), json!(50));
    let tools = key("tools").unwrap();
    let (wanted, allowed) = (json!(["bash", "read"]), json!(["read", "edit"]));
    assert_eq!(tools.tightened(wanted, Some(&allowed)), json!(["read"]));
    for (project, user, both) in [
        (json!(["-x"]), json!(["read"]), json!(["read", "-x"])),
        (json!(["read"]), json!(["-x"]), json!(["read", "-x"])),
        (json!(["-x"]), json!(["-y"]), json!(["-x", "-y"])),
        (
            json!(["read", "-x"]),
            json!(["read", "bash", "-x"]),
            json!(["read", "-x"]),
        ),
        // Nothing is left, which differs from everything except x.
        (
            json!(["bash", "-x"]),
            json!(["read"]),
            json!(["bash", "-bash", "-x"]),
        ),
        (json!(["bash"]), json!(["read"]), json!([])),
        (json!(["-x"]), json!([]), json!([])),
        (json!([]), json!(["read"]), json!([])),
    ] {
        assert_eq!(tools.tightened(project, Some(&user)), both, "{user}");
    }
    let model = key("model").unwrap();
    assert_eq!(model.tightened(json!("a"), Some(&json!("b"))), json!("a"));
}

#[test]
fn variables_are_named_after_the_keys() {
    let names: Vec<String> = KEYS.iter().map(|key| key.variable()).collect();
    assert!(names.contains(&"ZOT_MAX_COST_USD".to_owned()));
    // These variables have another meaning.
    for taken in ["ZOT_HOME", "ZOT_EXTRA_CA_CERTS"] {
        assert!(!names.contains(&taken.to_owned()));
    }
}
