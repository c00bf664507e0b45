//! MCP servers, seen by the model, by the user and by clients of `zot rpc`.

mod offering;
mod pipe;
mod starting;

use std::path::Path;

use serde_json::{Value, json};
use testkit::{ModelServer, RecordedRequest, Reply, Wire, Workdir, Zot, ZotCommand};

use crate::support::{binary, of_kind};

/// Returns the entry of a scripted server with these options.
pub(crate) fn entry(options: Value) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");
    json!({"command": "python3", "args": ["-B", script, options.to_string()]})
}

/// A model server, a working directory and the user's servers.
struct Scene {
    server: ModelServer,
    workdir: Workdir,
}

impl Scene {
    /// A model that follows `script`.
    fn new(servers: Value, script: &[&str]) -> Self {
        let replies = script.iter().map(|directive| Reply::directive(*directive));
        let scene = Self {
            server: ModelServer::with_script(replies),
            workdir: Workdir::with_files("work"),
        };
        scene.configure(&scene.workdir.zot_home().join("mcp.json"), servers);
        scene
    }

    fn configure(&self, path: &Path, servers: Value) {
        std::fs::create_dir_all(path.parent().expect("a directory")).unwrap();
        std::fs::write(path, json!({"mcpServers": servers}).to_string()).unwrap();
    }

    fn command(&self) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir).model(&self.server, Wire::OpenAi)
    }

    /// A `zot rpc` whose servers have started, unless one of them waits.
    fn pipe(&self) -> Zot {
        ZotCommand::rpc(binary(), &self.workdir, &self.server, Wire::OpenAi).spawn()
    }

    fn requests(&self) -> Vec<RecordedRequest> {
        self.server.requests()
    }
}

/// Waits until a server of a `zot rpc` is in this state.
pub(crate) fn wait_for_state(zot: &mut Zot, server: &str, state: &str) -> Value {
    zot.wait_for(|frame| {
        frame["type"] == "mcp_state" && frame["name"] == server && frame["state"] == state
    })
}

/// Returns the names of the tools of servers that a request declares, and `tool_search`.
fn declared(request: &RecordedRequest) -> Vec<String> {
    let names = request.tool_names().into_iter();
    let of_servers = names.filter(|name| name.contains("__") || *name == "tool_search");
    of_servers.map(str::to_owned).collect()
}

fn system(request: &RecordedRequest) -> String {
    let content = &request.body["messages"][0]["content"];
    content
        .as_str()
        .map_or_else(|| content.to_string(), str::to_owned)
}

/// Returns the texts of all tool results.
fn results(frames: &[Value]) -> Vec<String> {
    of_kind(frames, "tool_result")
        .into_iter()
        .map(|result| {
            result["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}
