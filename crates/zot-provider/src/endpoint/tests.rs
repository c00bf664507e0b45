use http::header::AUTHORIZATION;

use super::{Endpoint, Target, exact_base_url, is_version};
use crate::api_key::ApiKey;
use crate::openai::OpenAiQuirks;
use crate::providers::Wire;

fn endpoint(base_url: &str) -> Endpoint {
    Endpoint {
        provider: "p".to_owned(),
        base_url: base_url.to_owned(),
        api_key: None,
    }
}

const CHAT: Target<'static> = Target::new("/v1", "/chat/completions");

fn chat(base_url: &str) -> String {
    endpoint(base_url).uri(&CHAT).unwrap().to_string()
}

#[test]
fn a_version_is_added_unless_the_path_ends_in_one() {
    for (base_url, expected) in [
        ("http://h", "http://h/v1/chat/completions"),
        ("http://h/", "http://h/v1/chat/completions"),
        (" http://h:8080// ", "http://h:8080/v1/chat/completions"),
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/api", "http://h/api/v1/chat/completions"),
        (
            "http://h/api/paas/v4",
            "http://h/api/paas/v4/chat/completions",
        ),
        ("http://h/v1beta2", "http://h/v1beta2/chat/completions"),
        // Only the end of the path counts.
        ("http://h/v1/proxy", "http://h/v1/proxy/v1/chat/completions"),
        ("http://v1", "http://v1/v1/chat/completions"),
        ("http://h/v1?a=b", "http://h/v1/chat/completions?a=b"),
        ("http://h/?a=b", "http://h/v1/chat/completions?a=b"),
        ("http://h/x#note", "http://h/x/v1/chat/completions"),
    ] {
        assert_eq!(chat(base_url), expected, "{base_url}");
    }
}

#[test]
fn a_hash_at_the_end_or_the_whole_address_is_exact() {
    for (base_url, expected) in [
        ("http://h/#", "http://h/chat/completions"),
        ("http://h/x/#", "http://h/x/chat/completions"),
        (
            "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
        (
            "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21#",
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
        (
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
        ),
        (
            "http://h/x/chat/completions/",
            "http://h/x/chat/completions",
        ),
    ] {
        assert_eq!(chat(base_url), expected, "{base_url}");
    }
    let messages = Wire::Anthropic.request_url(&endpoint("http://h/a/messages"), "m");
    assert_eq!(messages.unwrap(), "http://h/a/messages");
}

#[test]
fn every_wire_adds_its_own_version_and_operation() {
    let url = |wire: Wire, base_url: &str| wire.request_url(&endpoint(base_url), "m").unwrap();
    let chat = Wire::OpenAiChat(OpenAiQuirks::COMPATIBLE);
    assert_eq!(url(Wire::Anthropic, "http://h"), "http://h/v1/messages");
    assert_eq!(url(Wire::Anthropic, "http://h/v2/"), "http://h/v2/messages");
    assert_eq!(url(Wire::Anthropic, "http://h/a#"), "http://h/a/messages");
    assert_eq!(
        url(Wire::OpenAiResponses, "http://h"),
        "http://h/v1/responses"
    );
    assert_eq!(url(chat, "http://h/v3"), "http://h/v3/chat/completions");
    let generate = "/models/m:streamGenerateContent";
    for (base_url, path) in [
        ("http://h", "http://h/v1beta"),
        ("http://h/v1alpha/", "http://h/v1alpha"),
        (
            "http://h/v1/publishers/google#",
            "http://h/v1/publishers/google",
        ),
    ] {
        assert_eq!(url(Wire::Gemini, base_url), format!("{path}{generate}"));
    }
    let with_query = endpoint("http://h?key=k")
        .uri(&crate::gemini::target("m", crate::http::Delivery::Streamed));
    assert_eq!(
        with_query.unwrap().to_string(),
        format!("http://h/v1beta{generate}?alt=sse&key=k")
    );
}

#[test]
fn versions_are_distinguished_from_names() {
    for version in [
        "v1",
        "v4",
        "V2",
        "v10",
        "v1beta",
        "v1alpha",
        "v1beta2",
        "v2preview",
        "v1.1",
    ] {
        assert!(is_version(version), "{version}");
    }
    for name in [
        "", "v", "1", "vx", "v1x", "v2ray", "version1", "v1.", "v1.x", "api", "v1betax",
    ] {
        assert!(!is_version(name), "{name}");
    }
}

#[test]
fn an_address_can_be_marked_as_exact() {
    assert_eq!(exact_base_url(" http://h/x?a=b "), "http://h/x?a=b#");
    assert_eq!(exact_base_url("http://h/x#frag"), "http://h/x#");
    assert_eq!(
        chat(&exact_base_url("http://h/x")),
        "http://h/x/chat/completions"
    );
}

#[test]
fn azure_has_a_header_of_its_own_for_keys() {
    let headers = |base_url: &str, key: ApiKey| {
        let endpoint = Endpoint {
            api_key: Some(key),
            ..endpoint(base_url)
        };
        endpoint.headers_with_key(AUTHORIZATION, "Bearer ").unwrap()
    };
    let azure = headers("https://r.openai.azure.com/openai/v1", ApiKey::from("k"));
    assert_eq!(azure["api-key"], "k");
    assert!(!azure.contains_key(AUTHORIZATION));
    for (base_url, key) in [
        ("https://azure.com.example/v1", ApiKey::from("k")),
        ("https://r.openai.azure.com/openai/v1", ApiKey::token("k")),
    ] {
        let headers = headers(base_url, key);
        assert_eq!(headers[AUTHORIZATION], "Bearer k");
        assert!(!headers.contains_key("api-key"));
    }
}

#[test]
fn an_address_without_a_scheme_is_refused() {
    for base_url in ["", "h/v1", "ftp://h/v1", "#"] {
        assert!(endpoint(base_url).uri(&CHAT).is_err(), "{base_url}");
        assert!(endpoint(base_url).base_uri().is_err(), "{base_url}");
    }
}
