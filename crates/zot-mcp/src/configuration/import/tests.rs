use std::fs;

use tempfile::TempDir;

use super::super::written::written;
use super::*;

struct Home {
    root: TempDir,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let root = root.path().display().to_string();
            fs::write(path, text.replace("ROOT", &root)).unwrap();
        }
        Self { root }
    }

    fn servers(&self, client: Client) -> ClientServers {
        servers_of_client(
            client,
            &ImportPlaces {
                home: &self.root.path().join("home"),
                cwd: &self.root.path().join("project"),
                env: &|_| None,
            },
        )
    }
}

/// Returns the found servers as lines: name, scope, entry, notes.
fn lines(servers: &ClientServers) -> Vec<String> {
    assert_eq!(servers.unreadable, []);
    let found = servers.found.iter();
    found
        .map(|server| {
            let (name, scope) = (&server.entry.name, server.scope.name());
            let notes: String = server
                .notes
                .iter()
                .map(|note| format!(" # {note}"))
                .collect();
            format!("{name} {scope} {}{notes}", written(&server.entry))
        })
        .collect()
}

fn left_out(servers: &ClientServers) -> Vec<String> {
    let servers = servers.left_out.iter();
    servers
        .map(|server| format!("{} {}", server.name, server.reason))
        .collect()
}

#[test]
fn nothing_there_is_nothing() {
    let home = Home::new(&[]);
    for client in Client::ALL {
        let servers = home.servers(client);
        assert!(servers.files.is_empty() && servers.found.is_empty());
        assert!(servers.unreadable.is_empty());
    }
}

#[test]
fn claude() {
    let home = Home::new(&[
        (
            "home/.claude.json",
            r#"{"numStartups": 5, "mcpServers": {"my server": {"command": "x", "args": ["${A}"]}, "bad": {"command": 1}},
                "projects": {"ROOT/project": {"mcpServers": {"local": {"type": "http", "url": "https://l.example"}}},
                             "/elsewhere": {"mcpServers": {"no": {"command": "x"}}}}}"#,
        ),
        (
            "home/.config/Claude/claude_desktop_config.json",
            r#"{"mcpServers": {"desktop": {"command": "d"}}}"#,
        ),
    ]);
    let servers = home.servers(Client::Claude);
    let mut expected = vec![
        r#"my-server user {"type":"stdio","command":"x","args":["${A}"]} # was called "my server""#,
        r#"local user {"type":"http","url":"https://l.example"} # was for this project only, and is for all of yours now"#,
    ];
    if !cfg!(target_os = "macos") {
        expected.push(r#"desktop user {"type":"stdio","command":"d","args":[]}"#);
    }
    assert_eq!(lines(&servers), expected);
    assert_eq!(
        left_out(&servers),
        ["bad \"command\" must be a string, got a number"]
    );
}

#[test]
fn codex() {
    let home = Home::new(&[(
        "home/.codex/config.toml",
        r#"
model = "x"
[mcp_servers.local]
command = "npx"
args = ["-y", "s"]
env_vars = ["TOKEN"]
cwd = "/there"
enabled = false
tool_timeout_sec = 120
enabled_tools = ["a", "b"]
disabled_tools = ["b"]
[mcp_servers.local.env]
A = "1"
[mcp_servers.remote]
url = "https://r.example/mcp"
bearer_token_env_var = "R_TOKEN"
scopes = ["read"]
default_tools_approval_mode = "prompt"
[mcp_servers.remote.http_headers]
X = "y"
[mcp_servers.remote.env_http_headers]
Z = "Z_VALUE"
[mcp_servers.remote.oauth]
client_id = "me"
callback_port = 3000
[mcp_servers.empty]
enabled = true
"#,
    )]);
    let servers = home.servers(Client::Codex);
    assert_eq!(
        lines(&servers),
        [
            r#"local user {"type":"stdio","command":"npx","args":["-y","s"],"env":{"A":"1","TOKEN":"${TOKEN}"},"cwd":"/there","timeout":120000,"enabled":false,"toolExposure":{"b":"hidden","a":"auto","b":"auto","*":"hidden"}}"#,
            r#"remote user {"type":"http","url":"https://r.example/mcp","headers":{"Authorization":"Bearer ${R_TOKEN}","X":"y","Z":"${Z_VALUE}"},"oauth":{"callbackPort":3000,"clientId":"me","scopes":["read"]}} # default_tools_approval_mode was not taken over: zot asks with --confirm"#,
        ]
    );
    assert_eq!(left_out(&servers), ["empty \"command\" is missing"]);
}

#[test]
fn opencode() {
    let home = Home::new(&[
        (
            "home/.config/opencode/opencode.jsonc",
            r#"{
                // comment with "quotes"
                "mcp": {
                    "local": {"type": "local", "command": ["bun", "x", "{env:DIR}/s"], "environment": {"A": "b{env:C}d"}, "enabled": false, "timeout": 9000},
                    /* another */ "file": {"type": "remote", "url": "https://x", "headers": {"K": "{file:~/key}"}},
                },
            }"#,
        ),
        (
            "project/opencode.json",
            r#"{"mcp": {"remote": {"type": "remote", "url": "https://r.example", "oauth": {"clientId": "me", "scope": "a b"}}}}"#,
        ),
    ]);
    let servers = home.servers(Client::Opencode);
    assert_eq!(
        lines(&servers),
        [
            r#"local user {"type":"stdio","command":"bun","args":["x","${DIR}/s"],"env":{"A":"b${C}d"},"timeout":9000,"enabled":false}"#,
            r#"remote project {"type":"http","url":"https://r.example","oauth":{"clientId":"me","scopes":["a","b"]}}"#,
        ]
    );
    assert_eq!(
        left_out(&servers),
        ["file refers to the content of a file ({file:…}), which is not supported"]
    );
}

#[test]
fn goose() {
    let home = Home::new(&[(
        "home/.config/goose/config.yaml",
        "GOOSE_PROVIDER: x
extensions:
  developer:
    enabled: true
    type: builtin
    name: developer
  github:
    enabled: false
    type: stdio
    cmd: npx
    args:
      - -y
      - '@scope/server'
    envs:
      A: 1
    env_keys:
      - GITHUB_TOKEN
    timeout: 300
    available_tools: [one]
  web:
    type: streamable_http
    uri: https://w.example/mcp
    headers:
      X: y
  old:
    type: sse
    uri: https://o.example/sse
",
    )]);
    let servers = home.servers(Client::Goose);
    assert_eq!(
        lines(&servers),
        [
            r#"github user {"type":"stdio","command":"npx","args":["-y","@scope/server"],"env":{"A":"1","GITHUB_TOKEN":"${GITHUB_TOKEN}"},"timeout":300000,"enabled":false,"toolExposure":{"one":"auto","*":"hidden"}} # goose keeps the value of $GITHUB_TOKEN elsewhere: set it before zot starts"#,
            r#"old user {"type":"sse","url":"https://o.example/sse"}"#,
            r#"web user {"type":"http","url":"https://w.example/mcp","headers":{"X":"y"}}"#,
        ]
    );
    assert_eq!(left_out(&servers), ["developer is a part of goose"]);
}

#[test]
fn vscode() {
    let home = Home::new(&[(
        "project/.vscode/mcp.json",
        r#"{
            "inputs": [{"type": "promptString", "id": "api-key", "password": true}],
            "servers": {
                "a": {"type": "stdio", "command": "node", "args": ["${workspaceFolder}/s.js"], "cwd": "${workspaceFolder}/sub",
                      "env": {"K": "${input:api-key}", "H": "${env:HOME}", "L": "${input:api-key}"}, "envFile": ".env"},
                "b": {"url": "https://b.example", "headers": {"Authorization": "Bearer ${input:api-key}"}},
                "c": {"command": "${command:pick}"},
            },
        }"#,
    )]);
    let servers = home.servers(Client::Vscode);
    assert_eq!(
        lines(&servers),
        [
            r#"a project {"type":"stdio","command":"node","args":["${ZOT_PROJECT_DIR}/s.js"],"env":{"H":"${HOME}","K":"${API_KEY}","L":"${API_KEY}"},"cwd":"sub"} # Code asks for "api-key": set $API_KEY before zot starts # the variables in ".env" (envFile) were not taken over: set them before zot starts"#,
            r#"b project {"type":"http","url":"https://b.example","headers":{"Authorization":"Bearer ${API_KEY}"}} # Code asks for "api-key": set $API_KEY before zot starts"#,
        ]
    );
    assert_eq!(
        left_out(&servers),
        ["c uses ${command:pick}, which only Code knows"]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let home = Home::new(&[
        ("home/.codex/config.toml", "[mcp_servers"),
        ("home/.config/goose/config.yaml", "a: &x 1\nb: *x\n"),
        ("home/.claude.json", "{\n\"mcpServers\": }"),
    ]);
    let reasons = |client| -> Vec<String> {
        let servers = home.servers(client).unreadable.into_iter();
        servers.map(|(_, reason)| reason).collect()
    };
    assert_eq!(
        reasons(Client::Goose),
        ["line 2: aliases are not supported"]
    );
    assert_eq!(reasons(Client::Claude), ["line 2: expected value"]);
    assert_eq!(reasons(Client::Codex).len(), 1);
}
