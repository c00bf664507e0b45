//! A client on the standard streams of `zot mcp serve`.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{Workdir, Zot, ZotCommand, poll_until};

use crate::support::binary;

pub(super) const MODERN: &str = "2026-07-28";

pub(super) struct Client {
    pub(super) zot: Zot,
    next: i64,
    /// What every request has in `_meta`.
    meta: Value,
}

/// Returns the command with the stand-in as its model.
pub(super) fn serve(workdir: &Workdir, arguments: &[&str]) -> ZotCommand {
    ZotCommand::new(binary(), workdir)
        .arguments(["mcp", "serve", "--provider", "offline"])
        .arguments(arguments)
}

/// Returns what a modern request says about itself.
pub(super) fn modern_meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

impl Client {
    /// Starts a server for a client that has introduced itself.
    pub(super) fn legacy(workdir: &Workdir, arguments: &[&str], capabilities: Value) -> Self {
        Self::introduced(serve(workdir, arguments), capabilities)
    }

    /// As [`legacy`](Self::legacy), with a server of its own.
    pub(super) fn introduced(server: ZotCommand, capabilities: Value) -> Self {
        let mut client = Self {
            zot: server.spawn(),
            next: 0,
            meta: json!({}),
        };
        let result = client.result(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(result["protocolVersion"], "2025-11-25");
        client
            .zot
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Starts a server for a client of the modern era.
    pub(super) fn modern(workdir: &Workdir, arguments: &[&str], capabilities: Value) -> Self {
        Self {
            zot: serve(workdir, arguments).spawn(),
            next: 0,
            meta: modern_meta(&capabilities),
        }
    }

    /// Sends a request and returns its id.
    pub(super) fn send(&mut self, method: &str, mut params: Value) -> i64 {
        self.next += 1;
        let mut meta = self.meta.clone();
        if let Some(own) = params["_meta"].as_object() {
            for (key, value) in own {
                meta[key] = value.clone();
            }
        }
        params["_meta"] = meta;
        self.zot
            .send(json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Waits for the response to a request.
    pub(super) fn response(&mut self, id: i64) -> Value {
        self.zot
            .wait_for(|frame| frame["id"] == id && frame.get("method").is_none())
    }

    /// Sends a request and returns its response.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.response(id)
    }

    /// Sends a request and returns its result.
    pub(super) fn result(&mut self, method: &str, params: Value) -> Value {
        let response = self.request(method, params);
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    /// Sends a request and returns the code of its error.
    pub(super) fn error(&mut self, method: &str, params: Value) -> i64 {
        let response = self.request(method, params);
        response["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("expected an error: {response}"))
    }

    /// Calls a tool and returns its result.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Begins a call and returns the id of its request.
    pub(super) fn begin(&mut self, tool: &str, arguments: Value) -> i64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(super) fn prompt(&mut self, prompt: &str) -> Value {
        self.call("zot", json!({"prompt": prompt}))
    }
}

/// Returns the text of a call's result.
pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// A prompt that runs a command which writes its process id to `pid` and then takes long.
pub(super) const ENDLESS: &str = "run: echo $$ > pid.new; mv pid.new pid; exec sleep 1000";

/// Waits until the command of [`ENDLESS`] runs.
pub(super) fn endless_pid(workdir: &Workdir) -> u32 {
    poll_until("the command runs", || workdir.read("pid").is_some());
    workdir.read("pid").unwrap().trim().parse().unwrap()
}

pub(super) fn assert_ends(pid: u32) {
    let process = Path::new("/proc").join(pid.to_string());
    poll_until("the command ends", || !process.exists());
}
