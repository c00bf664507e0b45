use super::path;
use crate::http::Delivery;

#[test]
fn paths() {
    for (base, model, expected) in [
        (
            "https://x",
            "gemini-2.5-pro",
            "/v1beta/models/gemini-2.5-pro",
        ),
        ("https://x/v1beta/", "models/m", "/models/m"),
        ("https://x/v1", "tunedModels/t", "/tunedModels/t"),
        ("https://x", "a b?c#", "/v1beta/models/a%20b%3Fc%23"),
    ] {
        let streamed = format!("{expected}:streamGenerateContent?alt=sse");
        assert_eq!(path(base, model, Delivery::Streamed), streamed);
        let whole = format!("{expected}:generateContent");
        assert_eq!(path(base, model, Delivery::Whole), whole);
    }
}
