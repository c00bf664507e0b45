//! `zot mcp login` and `logout`, against a server that wants one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use testkit::{PATIENCE, Zot, poll_until};

use super::Bench;
use crate::support::website::{Asked, Told, Website, browse};

/// An MCP server and its authorisation server.
fn server() -> Website {
    Website::start(answer)
}

fn answer(asked: &Asked) -> Told {
    let url = format!("http://{}", asked.headers["host"]);
    let at = |path: &str| format!("{url}{path}");
    let found = match asked.target.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => {
            json!({"resource": at("/mcp"), "authorization_servers": [url]})
        }
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": url,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "registration_endpoint": at("/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }),
        "/register" => {
            let asked: Value = serde_json::from_str(&asked.body).unwrap();
            return (
                201,
                json!({"client_id": "zot-1", "redirect_uris": asked["redirect_uris"]}).to_string(),
            );
        }
        "/token" => {
            json!({"access_token": "hush", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "hush-hush"})
        }
        "/mcp"
            if asked
                .headers
                .get("authorization")
                .is_none_or(|header| header != "Bearer hush") =>
        {
            return (401, String::new());
        }
        "/mcp" => return mcp(asked),
        _ => return (404, String::new()),
    };
    (200, found.to_string())
}

fn mcp(asked: &Asked) -> Told {
    let Ok(request) = serde_json::from_str::<Value>(&asked.body) else {
        return (405, String::new());
    };
    let mut result = match request["method"].as_str() {
        Some("server/discover") => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        Some("tools/list") => json!({"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}),
        _ => return (404, json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}}).to_string()),
    };
    result["resultType"] = json!("complete");
    result["ttlMs"] = json!(0);
    result["cacheScope"] = json!("private");
    (
        200,
        json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string(),
    )
}

fn bench(server: &Website) -> Bench {
    let bench = Bench::new();
    bench.succeed(&[
        "add",
        "-t",
        "http",
        "remote",
        &format!("{}/mcp", server.url()),
    ]);
    bench
}

/// Returns the address that the login prints.
fn address(login: &Zot) -> String {
    let find = || {
        let lines = login.lines();
        lines
            .iter()
            .find_map(|line| line.strip_prefix("Log in at ").map(str::to_owned))
    };
    poll_until("the address", || find().is_some());
    find().unwrap()
}

fn field(url: &str, name: &str) -> String {
    let mut fields = url
        .split(['?', '&'])
        .filter_map(|field| field.split_once('='));
    let found = fields.find(|(key, _)| *key == name);
    let (_, value) = found.unwrap_or_else(|| panic!("{name} in {url}"));
    value.replace("%3A", ":").replace("%2F", "/")
}

fn redirect(url: &str) -> String {
    format!(
        "{}?code=c1&state={}",
        field(url, "redirect_uri"),
        field(url, "state")
    )
}

#[test]
fn a_browser_on_this_machine_finishes_a_login() {
    let server = server();
    let bench = bench(&server);
    assert!(bench.succeed(&["list"]).contains("needs login"));
    assert!(bench.run(&["list"]).stderr.contains("zot mcp login remote"));
    let stderr = bench.fail(1, &["test", "remote"]);
    assert!(stderr.contains("zot mcp login remote"), "{stderr}");

    let login = bench.command(&["login", "remote", "--no-browser"]).spawn();
    let url = address(&login);
    assert!(
        url.starts_with(&format!("{}/authorize?", server.url())),
        "{url}"
    );
    assert_eq!(field(&url, "resource"), format!("{}/mcp", server.url()));
    browse(&redirect(&url), None);
    let ended = login.wait(PATIENCE);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("logged in to remote"),
        "{}",
        ended.stdout
    );
    let stored = bench.0.zot_home().join("mcp/logins.json");
    assert_eq!(
        fs::metadata(&stored).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let printed = bench.succeed(&["test", "remote"]);
    assert!(
        printed.contains("MCP 2026-07-28, http") && printed.contains("whoami"),
        "{printed}"
    );
    let shown = bench.succeed(&["get", "remote"]) + &bench.succeed(&["get", "remote", "--json"]);
    assert!(
        shown.contains(&server.url()) && shown.contains("issuer"),
        "{shown}"
    );
    assert!(!shown.contains("hush"), "{shown}");

    assert_eq!(
        bench.succeed(&["logout", "remote"]),
        "logged out of remote\n"
    );
    assert_eq!(
        bench.succeed(&["logout", "remote"]),
        "there was no login at remote\n"
    );
    assert!(!fs::read_to_string(&stored).unwrap().contains("hush"));
    assert!(bench.succeed(&["list"]).contains("needs login"));
}

#[test]
fn an_address_is_pasted_from_another_machine() {
    let server = server();
    let bench = bench(&server);
    let mut login = bench.command(&["login", "remote", "--no-browser"]).spawn();
    let url = address(&login);
    // Mistakes are explained, and it can be tried again.
    login.send_line("https://elsewhere.example/");
    poll_until("an explanation", || {
        login
            .stderr()
            .contains("not the address of a finished login")
    });
    login.send_line(&redirect(&url));
    let ended = login.wait(PATIENCE);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(bench.succeed(&["list"]).contains("ready"));
    // The login goes with the last server of that address.
    let url = format!("{}/mcp", server.url());
    bench.succeed(&["add", "again", &url]);
    assert!(!bench.succeed(&["remove", "remote"]).contains("login"));
    assert!(
        bench
            .succeed(&["remove", "again"])
            .contains("its login is forgotten")
    );
}

#[test]
fn a_refused_login_stores_nothing() {
    let server = server();
    let bench = bench(&server);
    let login = bench.command(&["login", "remote", "--no-browser"]).spawn();
    let url = address(&login);
    browse(
        &redirect(&url).replace("code=c1", "error=access_denied"),
        None,
    );
    let ended = login.wait(PATIENCE);
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    assert!(ended.stderr.contains("access_denied"), "{}", ended.stderr);
    assert!(bench.succeed(&["list"]).contains("needs login"));
}

#[test]
fn only_servers_with_a_url_have_logins() {
    let bench = Bench::new();
    bench.succeed(&["add", "local", "true"]);
    for command in ["login", "logout"] {
        let stderr = bench.fail(2, &[command, "local"]);
        assert!(stderr.contains("needs no login"), "{stderr}");
    }
    // A project's server hears nothing of us before it is approved.
    let server = server();
    let servers =
        json!({"mcpServers": {"p": {"type": "http", "url": format!("{}/mcp", server.url())}}});
    bench.0.write(".mcp.json", servers.to_string());
    assert!(bench.fail(1, &["login", "p"]).contains("zot mcp approve"));
    bench.succeed(&["list"]);
    assert!(server.asked().is_empty());
}
