use std::fs;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{start, start_with, status};

#[tokio::test]
async fn everything_is_forbidden_without_the_token() {
    let server = start().await;
    let token = &server.token;
    let nearly = format!("{}x", &token[..token.len() - 1]);
    let shorter = &token[1..];
    for target in [
        "/".to_owned(),
        "/?token=".to_owned(),
        format!("/?token={nearly}"),
        format!("/?token={shorter}"),
        format!("/?token={token}&token={token}"),
        format!("/?Token={token}"),
        "/events".to_owned(),
        format!("/events?token={nearly}"),
        "/snapshot".to_owned(),
        "/log".to_owned(),
        "/assets/app.js".to_owned(),
        format!("/assets/app.js?token={token}"),
        format!("/assets/{nearly}/app.js"),
        "/nowhere".to_owned(),
    ] {
        let response = server.get(&target).await;
        assert_eq!(status(&response), "403", "{target}");
        assert!(!response.contains(token.as_str()), "{target}");
    }
    let posted = server
        .exchange("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(status(&posted), "403");
    server.stop().await;
}

#[tokio::test]
async fn the_page_and_its_assets_are_served_with_the_token() {
    let server = start().await;
    let token = &server.token;
    let page = server.get(&format!("/?token={token}")).await;
    assert_eq!(status(&page), "200");
    assert!(page.contains("Content-Security-Policy: default-src 'none'; script-src 'self';"));
    assert!(page.contains("X-Content-Type-Options: nosniff\r\n"));
    assert!(page.contains("Referrer-Policy: no-referrer\r\n"));
    assert!(page.contains("Cache-Control: no-store\r\n"));
    assert!(!page.contains("Set-Cookie"));
    assert!(!page.contains("{{"), "a placeholder was not filled in");
    let parts: Vec<_> = page
        .split('"')
        .filter(|part| part.starts_with("assets/"))
        .collect();
    assert!(parts.len() >= 5, "{parts:?}");
    for part in parts {
        assert_eq!(
            status(&server.get(&format!("/{part}")).await),
            "200",
            "{part}"
        );
    }
    let missing = server.get(&format!("/assets/{token}/nothing.js")).await;
    assert_eq!(status(&missing), "404");
    let above = server.get(&format!("/assets/{token}/../app.js/x")).await;
    assert_eq!(status(&above), "404");
    server.stop().await;
}

/// Every module that the page imports must be among the assets.
#[tokio::test]
async fn all_imported_modules_exist() {
    let server = start().await;
    let token = &server.token;
    let mut waiting = vec!["app.js".to_owned()];
    let mut seen = Vec::new();
    while let Some(name) = waiting.pop() {
        if seen.contains(&name) {
            continue;
        }
        let code = server.get(&format!("/assets/{token}/{name}")).await;
        assert_eq!(status(&code), "200", "{name}");
        assert!(!code.contains("innerHTML"), "{name}: text goes in as text");
        let imports = code.split("from './").skip(1);
        waiting.extend(
            imports
                .filter_map(|rest| rest.split_once('\''))
                .map(|(name, _)| name.to_owned()),
        );
        seen.push(name);
    }
    assert!(seen.len() > 10, "{seen:?}");
    server.stop().await;
}

#[tokio::test]
async fn only_get_is_allowed() {
    let server = start().await;
    let token = &server.token;
    for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS"] {
        let response = server
            .exchange(&format!(
                "{method} /?token={token} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            ))
            .await;
        assert_eq!(status(&response), "405", "{method}");
        assert!(response.contains("Allow: GET\r\n"));
    }
    server.stop().await;
}

#[tokio::test]
async fn only_known_host_names_are_allowed() {
    let server = start_with(None, &["agents.example"]).await;
    let token = server.token.clone();
    let mut responses = Vec::new();
    for hosts in [
        "Host: localhost\r\n",
        "Host: LOCALHOST:9000\r\n",
        "Host: 127.0.0.1:1\r\n",
        "Host: [::1]:80\r\n",
        "Host: Agents.Example:443\r\n",
        "Host: evil.example\r\n",
        "Host: localhost.evil.example\r\n",
        "Host: 127.0.0.1.evil.example\r\n",
        "Host: 192.0.2.7\r\n",
        "Host: \r\n",
        "Host: localhost:\r\n",
        "Host: localhost:x\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "",
    ] {
        let request = format!("GET /?token={token} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        responses.push(status(&server.exchange(&request).await).to_owned());
    }
    assert_eq!(responses[..5], ["200"; 5]);
    assert_eq!(responses[5..], ["403"; 9]);
    server.stop().await;
}

#[tokio::test]
async fn a_connection_serves_several_requests() {
    let server = start().await;
    let token = &server.token;
    let mut stream = server.connect().await;
    let one = format!("GET /snapshot?token={token} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let last =
        format!("GET /?token={token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    // Two in one write, and one split in the middle.
    stream
        .write_all(format!("{one}{one}{}", &last[..20]).as_bytes())
        .await
        .unwrap();
    stream.write_all(&last.as_bytes()[20..]).await.unwrap();
    let mut responses = String::new();
    stream.read_to_string(&mut responses).await.unwrap();
    assert_eq!(responses.matches("HTTP/1.1 200 OK").count(), 3);
    assert_eq!(responses.matches("{\"seq\":0,\"agents\":[]}").count(), 2);
    server.stop().await;
}

#[tokio::test]
async fn a_log_is_served_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a \"log\" <1>.jsonl");
    let lines = "{\"seq\":1,\"at_ms\":5,\"agent\":\"a\"}\n".repeat(9_000);
    fs::write(&path, &lines).unwrap();
    let server = start_with(Some(path.clone()), &[]).await;
    let token = server.token.clone();
    let response = server.get(&format!("/log?token={token}")).await;
    assert_eq!(status(&response), "200");
    assert_eq!(response.split_once("\r\n\r\n").unwrap().1, lines);
    let page = server.get(&format!("/?token={token}")).await;
    assert!(page.contains("content=\"a &quot;log&quot; &lt;1&gt;.jsonl\""));
    fs::remove_file(path).unwrap();
    let gone = server.get(&format!("/log?token={token}")).await;
    assert_eq!(status(&gone), "404");
    server.stop().await;
}
