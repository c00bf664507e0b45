//! `/login` in a browser and with a device code, against a scripted provider.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use testkit::{Wire, Workdir};

use super::Terminal;
use crate::support::website::{Website, browse};

/// The chat with a provider `company`, whose logins are at `logins`, and with a browser that only
/// writes the page it opens to [`opened_page`].
fn terminal(logins: &Website) -> Terminal {
    let at = |path: &str| format!("{}{path}", logins.url());
    let oauth = json!({
        "clientId": "client-of-mine",
        "authorizeUrl": at("/authorize"),
        "tokenUrl": at("/token"),
        "deviceUrl": at("/device"),
    });
    Terminal::open_prepared(
        // Programs in the working directory are not used.
        "DISPLAY=:9 PATH=${PWD%/cwd/work}/home/work/browser:$PATH",
        "--no-session",
        |server, workdir| {
            let providers = json!({"providers": {"company": {
                "wire": "anthropic",
                "baseUrl": server.url(Wire::Anthropic),
                "defaultModel": "company-model",
                "oauth": oauth,
            }}});
            fs::create_dir_all(workdir.zot_home()).unwrap();
            let path = workdir.zot_home().join("providers.json");
            fs::write(path, providers.to_string()).unwrap();
            install_browser(workdir);
        },
    )
}

fn install_browser(workdir: &Workdir) {
    let directory = workdir.home().join("browser");
    fs::create_dir_all(&directory).unwrap();
    let page = opened_page(workdir);
    let script = format!(
        "#!/bin/sh\nprintf %s \"$1\" > {0}.part && mv {0}.part {0}\n",
        page.display()
    );
    for name in ["xdg-open", "open"] {
        let path = directory.join(name);
        fs::write(&path, &script).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn opened_page(workdir: &Workdir) -> PathBuf {
    workdir.home().join("opened-page")
}

fn field(url: &str, name: &str) -> String {
    let fields = url.split(['?', '&']);
    let mut fields = fields.filter_map(|field| field.split_once('='));
    let found = fields.find(|(key, _)| *key == name);
    let (_, value) = found.unwrap_or_else(|| panic!("{name} in {url}"));
    value.replace("%3A", ":").replace("%2F", "/")
}

fn tokens(name: &str) -> String {
    json!({"access_token": name, "refresh_token": format!("{name}-refresh"), "expires_in": 3600})
        .to_string()
}

fn stored(terminal: &Terminal) -> Value {
    let path = terminal.workdir.zot_home().join("auth.json");
    let text = fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).unwrap()
}

/// The chat restarts with the login, and its next request carries the token.
fn assert_used(terminal: &Terminal, token: &str) {
    terminal.wait_until("the model of the provider", |screen| {
        screen.trim_end().ends_with("company-model")
    });
    assert_eq!(stored(terminal)["company"]["access_token"], token);
    terminal.type_line("say:1");
    terminal.wait_for("alpha");
    let requests = terminal.server.requests();
    let request = requests.last().unwrap();
    assert_eq!(request.headers["authorization"], format!("Bearer {token}"));
}

#[test]
fn a_login_in_the_browser_restarts_the_chat_with_it() {
    let logins = Website::start(|asked| match asked.target.as_str() {
        "/token" => (200, tokens("browser-access-token")),
        _ => (404, String::new()),
    });
    let terminal = terminal(&logins);
    terminal.wait_for("/help for commands and keys");
    terminal.type_line("/login company");
    terminal.wait_for("logging in to company");
    terminal.wait_for("Log in at");
    terminal.wait_for("waiting for the provider · esc cancels");
    let path = opened_page(&terminal.workdir);
    terminal.wait_until("the browser", |_| path.exists());
    let page = fs::read_to_string(&path).unwrap();
    assert!(
        page.starts_with(&format!("{}/authorize?", logins.url())),
        "{page}"
    );
    let (redirect, state) = (field(&page, "redirect_uri"), field(&page, "state"));
    let response = browse(&format!("{redirect}?code=c1&state={state}"), None);
    assert!(response.contains("You are logged in"), "{response}");
    assert_used(&terminal, "browser-access-token");
}

#[test]
fn a_cancelled_login_in_the_browser_stores_nothing() {
    let logins = Website::start(|_| (200, tokens("unused-token")));
    let terminal = terminal(&logins);
    terminal.wait_for("/help for commands and keys");
    terminal.type_line("/login company");
    terminal.wait_for("Log in at");
    let path = opened_page(&terminal.workdir);
    terminal.wait_until("the browser", |_| path.exists());
    terminal.press("Escape");
    terminal.wait_for("login to company cancelled");
    assert!(logins.asked().is_empty(), "{:?}", logins.asked());
    assert_eq!(stored(&terminal), json!({}));
    // The chat continues.
    terminal.type_line("/help");
    terminal.wait_for("/transcript");
}

#[test]
fn a_login_with_a_device_code_restarts_the_chat_with_it() {
    let is_confirmed = Arc::new(AtomicBool::new(false));
    let confirmed = Arc::clone(&is_confirmed);
    let logins = Website::start(move |asked| match asked.target.as_str() {
        "/device" => {
            let code = json!({"device_code": "dc", "user_code": "WDJB-MJHT", "interval": 0,
                "verification_uri": "https://company.example/device", "expires_in": 60});
            (200, code.to_string())
        }
        "/token" if confirmed.load(Ordering::SeqCst) => (200, tokens("device-access-token")),
        "/token" => (400, r#"{"error":"authorization_pending"}"#.to_owned()),
        _ => (404, String::new()),
    });
    let terminal = terminal(&logins);
    terminal.wait_for("/help for commands and keys");
    terminal.type_line("/login company --device");
    terminal.wait_for("Enter the code WDJB-MJHT at https://company.example/device");
    is_confirmed.store(true, Ordering::SeqCst);
    assert_used(&terminal, "device-access-token");
}
