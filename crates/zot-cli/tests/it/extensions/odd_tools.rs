//! Tools that providers refuse, against a server that refuses them, too.

use serde_json::{Value, json};
use testkit::{
    Finished, InstalledExtension, ModelServer, ScriptedExtension, Wire, Workdir, ZotCommand,
    register_tool,
};

use crate::support::{assert_no_error, binary, of_kind};
use crate::terminal::Terminal;

/// Returns the name that a wire has for the echoing tool.
const ECHO: &str = "notes/find all";

fn odd_tools() -> ScriptedExtension {
    let echo = json!({"oneOf": [
        {"type": "object", "properties": {"search text": {"type": "string"}},
            "required": ["search text"]},
        {"type": "object", "properties": {"tags": {"type": "array"}}, "required": ["tags"]}],
        "$defs": {"unused": {"$ref": "#"}}});
    let registrations = [
        register_tool(ECHO, echo),
        register_tool(
            "9.recursive",
            json!({"properties": {"next": {"$ref": "#"}}}),
        ),
        register_tool(
            "untyped",
            json!({"type": "object", "properties": {"v": {}, "l":
            {"type": "array", "items": {"type": "any"}}, "$odd": {"enum": [1, "", null]}}}),
        ),
        register_tool(
            "all of it",
            json!({"type": "object", "allOf": [{"required": ["a"]},
            {"properties": {"a": {"const": 3}}}]}),
        ),
        register_tool("only text", json!({"type": "string"})),
    ];
    let echoed = json!({"type": "tool_result", "echo": "args"});
    ScriptedExtension::new("odd", registrations).tool(ECHO, echoed)
}

struct Run {
    workdir: Workdir,
    server: ModelServer,
    extension: InstalledExtension,
    wire: Wire,
}

impl Run {
    fn new(wire: Wire) -> Self {
        let (workdir, server) = (Workdir::with_files("work"), ModelServer::strict());
        let extension = odd_tools().install(&workdir.extensions());
        Self {
            workdir,
            server,
            extension,
            wire,
        }
    }

    fn single(&self, flag: &str, prompt: &str) -> Finished {
        ZotCommand::new(binary(), &self.workdir)
            .arguments([flag, "--no-session"])
            .model(&self.server, self.wire)
            .extensions([&self.extension])
            .argument(prompt)
            .run("")
    }

    /// A prompt that makes the model call the echoing tool, as it is declared on the wire.
    fn call(&self) -> String {
        let requests = self.server.requests();
        let names = requests[0].tool_names();
        let name = names.iter().find(|name| name.starts_with("notes")).unwrap();
        format!(r#"tool:{name}:{{"search_text":"x","tags":["search text"]}}"#)
    }
}

#[test]
fn every_wire_accepts_them_and_calls_reach_the_extension() {
    for wire in Wire::ALL {
        let run = Run::new(wire);
        let command = ZotCommand::rpc(binary(), &run.workdir, &run.server, wire);
        let mut zot = command.extensions([&run.extension]).spawn();
        let frames = zot.turn("1", "say:1");
        assert_no_error(&frames);
        let notices = of_kind(&frames, "ext_notify");
        assert_eq!(notices.len(), 1, "{wire:?}: {notices:?}");
        let notice = notices[0]["message"].as_str().unwrap();
        assert!(notice.contains("\"only text\""), "{notice}");
        assert_eq!(notices[0]["level"], "warn");
        let offered = run.server.requests()[0].tool_names().len();
        assert_eq!(
            offered,
            5 + 4,
            "four of the extension's, and zot's own: {wire:?}"
        );

        let frames = zot.turn("2", &run.call());
        assert_no_error(&frames);
        assert_eq!(of_kind(&frames, "ext_notify").len(), 0, "reported once");
        let call = of_kind(&frames, "tool_call")[0];
        assert_eq!(call["name"], ECHO, "{wire:?}");
        let arguments = json!({"search text": "x", "tags": ["search text"]});
        assert_eq!(call["args"], arguments, "{wire:?}");
        let called = run.extension.received("tool_call");
        assert_eq!(called[0]["name"], ECHO);
        assert_eq!(called[0]["args"], arguments);
        // The second step contained the call, and was not refused.
        assert_eq!(run.server.requests().len(), 3, "{wire:?}");
    }
}

#[test]
fn single_runs_report_tools_that_are_left_out() {
    for wire in Wire::ALL {
        let run = Run::new(wire);
        let finished = run.single("-p", "say:1");
        assert_eq!(finished.code, Some(0), "{wire:?}: {}", finished.stderr);
        let named = finished
            .stderr
            .matches("the tool \"only text\" is not offered")
            .count();
        assert_eq!(named, 1, "{wire:?}: {}", finished.stderr);
        let finished = run.single("--json", "say:1");
        assert_eq!(finished.code, Some(0), "{wire:?}: {}", finished.stderr);
        let lines = finished.stdout.lines();
        let frames: Vec<Value> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
        let notices = of_kind(&frames, "ext_notify");
        assert_eq!(notices.len(), 1, "{wire:?}");
        assert_eq!(notices[0]["extension"], "zot");
    }
}

#[test]
fn the_chat_shows_tools_that_are_left_out() {
    let workdir = Workdir::with_files("work");
    let extension = odd_tools().install(&workdir.extensions());
    let place = extension.directory().display();
    let terminal = Terminal::open(&format!("MODEL --no-ext --ext {place}"));
    terminal.wait_for("/help");
    terminal.type_line("say:3");
    terminal.wait_for("alpha beta gamm");
    let screen = terminal.everything();
    // Lines are wrapped to fit the screen.
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("zot: the tool \"only text\" is not offered"),
        "{screen}"
    );
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}
