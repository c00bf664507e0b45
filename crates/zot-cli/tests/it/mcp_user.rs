//! Prompts and resources of MCP servers: commands and mentions in every front end.

use serde_json::{Value, json};
use testkit::{ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

/// Returns the configuration with the server `hotel`.
pub(crate) fn hotel() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_user/hotel.py");
    json!({"mcpServers": {"hotel": {"command": "python3", "args": ["-B", script]}}}).to_string()
}

struct Scene {
    server: ModelServer,
    workdir: Workdir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            server: ModelServer::start(),
            workdir: Workdir::with_files("work"),
        };
        let home = scene.workdir.zot_home();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("mcp.json"), hotel()).unwrap();
        scene
    }

    /// Runs `zot -p` and returns the prompt that the model read.
    fn asked(&self, prompt: &str) -> String {
        let ended = ZotCommand::new(binary(), &self.workdir)
            .model(&self.server, Wire::OpenAi)
            .arguments(["-p", prompt])
            .run("");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        self.last_prompt()
    }

    /// Returns the last user message that the model read.
    fn last_prompt(&self) -> String {
        let requests = self.server.requests();
        let messages = requests.last().expect("a request").messages().to_vec();
        let mut messages = messages.into_iter().rev();
        let user = messages.find(|message| message["role"] == "user");
        match &user.expect("a prompt")["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().expect("text").to_owned(),
        }
    }
}

#[test]
fn a_prompt_of_a_server_is_a_command_of_zot_p() {
    let scene = Scene::new();
    assert_eq!(scene.asked("/hotel__trip Rome 3"), "Plan 3 days in Rome.");
    assert_eq!(
        scene.asked("/hotel__trip city=\"New York\""),
        "Plan some days in New York."
    );
}

#[test]
fn a_resource_is_attached_where_it_is_mentioned() {
    let scene = Scene::new();
    let read = scene.asked("what does @hotel:memo://first say?");
    assert_eq!(
        read,
        "what does @hotel:memo://first say?\n\n[hotel:memo://first, attached by the user]\n```\n\
         the memo says 42\n```"
    );
    let read = scene.asked("and @hotel:memo://other?");
    assert!(
        read.starts_with("and @hotel:memo://other?\n\n[hotel:memo://other: not attached, "),
        "{read}"
    );
}

#[test]
fn the_pipe_lists_and_runs_prompts_and_attaches_resources() {
    let scene = Scene::new();
    let mut zot = ZotCommand::rpc(binary(), &scene.workdir, &scene.server, Wire::OpenAi).spawn();
    zot.wait_for(|frame| frame["type"] == "mcp_state" && frame["state"] == "ready");
    let commands = zot.call(json!({"id": "1", "type": "get_commands"}));
    let listed = commands["data"]["commands"].as_array().unwrap();
    let expected = json!({"name": "hotel__trip", "description": "CITY [DAYS]  Plans a trip",
        "extension": "", "source": "mcp"});
    assert!(listed.contains(&expected), "{commands}");
    let failed = zot.call(json!({"id": "2", "type": "invoke_command", "name": "hotel__trip"}));
    assert_eq!(
        failed["data"]["error"],
        "/hotel__trip needs city: /hotel__trip CITY [DAYS]"
    );
    let run = json!({"id": "3", "type": "invoke_command", "name": "hotel__trip", "args": "Rome"});
    let run = zot.call(run);
    assert_eq!(run["data"]["source"], "mcp", "{run}");
    zot.wait_for(|frame| frame["type"] == "done");
    assert_eq!(scene.last_prompt(), "Plan some days in Rome.");
    let message = "see @hotel:memo://first";
    zot.call(json!({"id": "4", "type": "prompt", "message": message, "mentions": true}));
    zot.wait_for(|frame| frame["type"] == "done");
    assert!(scene.last_prompt().contains("the memo says 42"));
    // Only typed text mentions.
    zot.call(json!({"id": "5", "type": "prompt", "message": message}));
    zot.wait_for(|frame| frame["type"] == "done");
    assert_eq!(scene.last_prompt(), message);
}
