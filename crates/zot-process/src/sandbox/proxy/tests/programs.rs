//! Real clients.

use std::process::Command;

use super::{Running, greeter, running};

/// Runs curl with the variables that a child in the sandbox has. Returns whether it succeeded, and what it
/// wrote.
fn curl(proxy: &Running, arguments: &[&str]) -> Option<(bool, String)> {
    let address = format!("http://{}", proxy.address);
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20"])
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(["http_proxy", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, &address)))
        .output();
    let Ok(output) = output else {
        testkit::skip("curl is not installed");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some((
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

#[test]
fn curl_gets_through_or_says_why_not() {
    let server = greeter("hello");
    let proxy = running(&[&server.to_string()]);
    let url = format!("http://{server}/");
    let Some(plain) = curl(&proxy, &[&url]) else {
        return;
    };
    assert_eq!(plain, (true, "hello".to_owned()));
    let tunnel = curl(&proxy, &["--proxytunnel", &url]);
    assert_eq!(tunnel, Some((true, "hello".to_owned())));
    let body = "x".repeat(100_000);
    let sent = curl(&proxy, &["--data", &body, &url]);
    assert_eq!(sent, Some((true, "hello".to_owned())));
    let (_, refused) = curl(&proxy, &["http://example.com/"]).unwrap();
    assert!(
        refused.contains("zot's sandbox refused example.com:80"),
        "{refused}"
    );
    let (is_success, refused) = curl(&proxy, &["--verbose", "https://example.com/"]).unwrap();
    assert!(!is_success && refused.contains("403"), "{refused}");
    assert!(
        refused.contains("example.com:443 is not in connect"),
        "{refused}"
    );
}
