use super::target;
use crate::http::Delivery;

#[test]
fn names_of_models_become_paths() {
    for (model, expected) in [
        ("gemini-2.5-pro", "/models/gemini-2.5-pro"),
        ("models/m", "/models/m"),
        ("tunedModels/t", "/tunedModels/t"),
        ("a b?c#", "/models/a%20b%3Fc%23"),
    ] {
        let streamed = format!("{expected}:streamGenerateContent?alt=sse");
        assert_eq!(target(model, Delivery::Streamed).operation, streamed);
        let whole = format!("{expected}:generateContent");
        assert_eq!(target(model, Delivery::Whole).operation, whole);
    }
}
