//! Extensions, seen by a client of `zot rpc` and by the extension itself.

mod ending;
mod failures;
mod finding;
mod interception;
mod modes;
mod odd_tools;
#[cfg(target_os = "linux")]
mod permissions;
mod registration;
mod reloading;
mod slow_starters;

use serde_json::{Value, json};
use testkit::{InstalledExtension, ModelServer, ScriptedExtension, Wire, Workdir, Zot, ZotCommand};

use crate::support::{binary, of_kind};

/// A `zot rpc` with these extensions and no others. Dropped in this order.
struct Extended {
    zot: Zot,
    server: ModelServer,
    workdir: Workdir,
    installed: Vec<InstalledExtension>,
}

impl Extended {
    fn start(scripted: &[ScriptedExtension]) -> Self {
        Self::start_with(scripted, |command| command)
    }

    fn start_with(
        scripted: &[ScriptedExtension],
        adapt: impl FnOnce(ZotCommand) -> ZotCommand,
    ) -> Self {
        let (workdir, server) = (Workdir::with_files("work"), ModelServer::start());
        let directory = workdir.extensions();
        let installed: Vec<InstalledExtension> =
            scripted.iter().map(|s| s.install(&directory)).collect();
        let command = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi);
        Self {
            zot: adapt(command.extensions(&installed)).spawn(),
            server,
            workdir,
            installed,
        }
    }

    /// Runs a prompt that calls a tool; returns whether the call failed, and its result.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let frames = self.zot.turn("c", &format!("tool:{tool}:{arguments}"));
        result_of(&frames)
    }

    fn log(&self, name: &str) -> String {
        self.workdir.extension_log(name)
    }

    fn wait_for_log(&self, name: &str, text: &str) {
        testkit::poll_until(text, || self.log(name).contains(text));
    }

    /// Returns the names of the tools offered in each request.
    fn offered(&self) -> Vec<Vec<String>> {
        let requests = self.server.requests();
        let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        requests.iter().map(|r| names(r.tool_names())).collect()
    }
}

/// Returns whether the first call failed, and the text of its result.
fn result_of(frames: &[Value]) -> (bool, String) {
    let result = of_kind(frames, "tool_result")[0];
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    (result["is_error"] == true, text.to_owned())
}

/// Returns an extension that intercepts these events and does `steps` for each.
fn guard(name: &str, steps: Value) -> ScriptedExtension {
    let kinds: Vec<&String> = steps.as_object().unwrap().keys().collect();
    let subscribe = json!({"type": "subscribe", "events": [], "intercept": kinds});
    ScriptedExtension::new(name, [subscribe]).script("intercept", steps)
}

/// Returns the response of an interceptor.
fn verdict(fields: Value) -> Value {
    let mut answer = fields;
    answer["type"] = json!("event_intercept_response");
    answer
}
