//! The clients in `examples/rpc`, which rely on what `docs/rpc.md` says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Signal, Wire, Workdir, ZotCommand, poll_until};

use crate::support::binary;

#[derive(Clone, Copy)]
enum Client {
    Python,
    Shell,
}

impl Client {
    /// Those that this machine has what they need for.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn usable() -> Vec<Self> {
        let mut usable = vec![Self::Python, Self::Shell];
        usable.retain(|client| {
            let (program, probe) = match client {
                Self::Python => ("python3", "import sys; sys.exit(sys.version_info < (3, 8))"),
                Self::Shell => ("bash", "((BASH_VERSINFO[0] >= 4)) && command -v jq"),
            };
            let found = Command::new(program).args(["-c", probe]).output();
            let is_there = found.is_ok_and(|output| output.status.success());
            if !is_there {
                eprintln!("skipped: {program} is missing, too old, or has no jq");
            }
            is_there
        });
        usable
    }

    /// One run of the client.
    fn command(self, machine: &Machine, prompt: &str, confirm: Confirm) -> ZotCommand {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rpc");
        let state = machine.state();
        let zot = match self {
            Self::Python => ZotCommand::new("python3", &machine.workdir)
                .argument(root.join("python/client.py"))
                .arguments(confirm.is_automatic().then_some("--yes"))
                .argument("--state")
                .argument(state)
                .arguments([prompt, "--"]),
            Self::Shell => ZotCommand::new("bash", &machine.workdir)
                .argument(root.join("shell/client.sh"))
                .env("YES", if confirm.is_automatic() { "1" } else { "" })
                .env("STATE", state)
                .argument(prompt),
        };
        zot.env("ZOT", binary())
            .model(&machine.server, Wire::OpenAi)
            .arguments(["--system-prompt", "SYS", "--confirm"])
    }

    fn run(self, machine: &Machine, prompt: &str, confirm: Confirm) -> Finished {
        let input = match confirm {
            Confirm::Answer(answer) => answer,
            Confirm::Automatic => "",
        };
        self.command(machine, prompt, confirm).run(input)
    }
}

#[derive(Clone, Copy)]
enum Confirm {
    Automatic,
    /// What is typed.
    Answer(&'static str),
}

impl Confirm {
    fn is_automatic(self) -> bool {
        matches!(self, Self::Automatic)
    }
}

/// Where a client runs: a model, a working directory, a file with the conversation.
struct Machine {
    server: ModelServer,
    workdir: Workdir,
}

impl Machine {
    fn new() -> Self {
        Self {
            server: ModelServer::start(),
            workdir: Workdir::with_files("work"),
        }
    }

    fn state(&self) -> PathBuf {
        self.workdir.home().join("state.json")
    }

    fn saved_messages(&self) -> Vec<Value> {
        let text = fs::read(self.state()).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// The messages of the last request to the model.
    fn last_request(&self) -> Value {
        self.server.requests().pop().unwrap().body["messages"].clone()
    }
}

#[test]
fn clients_print_the_answer() {
    for client in Client::usable() {
        let machine = Machine::new();
        let finished = client.run(&machine, "say:3", Confirm::Automatic);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert_eq!(finished.stdout, "alpha beta gamm \n");
    }
}

#[test]
fn clients_ask_before_a_tool_runs() {
    for client in Client::usable() {
        for (confirm, runs) in [
            (Confirm::Automatic, true),
            (Confirm::Answer("y\n"), true),
            (Confirm::Answer("n\n"), false),
            (Confirm::Answer(""), false),
        ] {
            let machine = Machine::new();
            let prompt = r#"tool:bash:{"command": "touch made"}"#;
            let finished = client.run(&machine, prompt, confirm);
            assert_eq!(finished.code, Some(0), "{}", finished.stderr);
            assert_eq!(machine.workdir.path().join("made").exists(), runs);
            if !confirm.is_automatic() {
                assert!(
                    finished.stderr.contains("touch made\n"),
                    "{}",
                    finished.stderr
                );
            }
        }
        let machine = Machine::new();
        let prompt = r#"loop:3:bash:{"command": "echo >> made"}"#;
        client.run(&machine, prompt, Confirm::Answer("a\n"));
        assert_eq!(machine.workdir.read("made").as_deref(), Some("\n\n\n"));
    }
}

#[test]
fn clients_report_errors() {
    for client in Client::usable() {
        let machine = Machine::new();
        let finished = client.run(&machine, "err:429:slow down", Confirm::Automatic);
        assert_eq!(finished.code, Some(1));
        assert!(
            finished.stderr.contains("error (rate_limited)"),
            "{}",
            finished.stderr
        );
    }
}

/// What one client saved, the other takes to another machine.
#[test]
fn clients_move_a_conversation() {
    for client in Client::usable() {
        for next in Client::usable() {
            let (first, second) = (Machine::new(), Machine::new());
            let prompt = r#"tool:read:{"path":  "pic.png"}"#;
            client.run(&first, prompt, Confirm::Automatic);
            fs::copy(first.state(), second.state()).unwrap();
            next.run(&second, "say:1", Confirm::Automatic);
            client.run(&first, "say:1", Confirm::Automatic);
            assert_eq!(second.last_request(), first.last_request());
            assert_eq!(second.saved_messages().len(), first.saved_messages().len());
        }
    }
}

#[test]
fn an_interrupt_aborts_the_prompt_and_not_zot() {
    for client in Client::usable() {
        let machine = Machine::new();
        let made = machine.workdir.path().join("made");
        let prompt = r#"tool:bash:{"command": "touch made; sleep 60"}"#;
        let running = client.command(&machine, prompt, Confirm::Automatic).spawn();
        poll_until("the tool runs", || made.exists());
        running.signal(Signal::INT);
        let finished = running.finish();
        assert_eq!(finished.code, Some(130), "{}", finished.stderr);
        // Zot was still there to be asked for the conversation.
        let result = machine.saved_messages()[2].to_string();
        assert!(result.contains("[exit -1]"), "{result}");

        let machine = Machine::new();
        let running = client.command(&machine, "hang", Confirm::Automatic).spawn();
        poll_until("the model is asked", || {
            !machine.server.requests().is_empty()
        });
        running.signal(Signal::INT);
        assert_eq!(running.finish().code, Some(130));
        assert_eq!(machine.saved_messages().len(), 1);
    }
}

/// A conversation that does not fit a line goes over in several.
#[test]
fn a_long_conversation_is_restored_in_pieces() {
    if !Client::usable()
        .iter()
        .any(|client| matches!(client, Client::Python))
    {
        return;
    }
    let machine = Machine::new();
    let text = "x".repeat(1024 * 1024);
    let message = |role: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
    let messages: Vec<Value> = ["user", "assistant"]
        .into_iter()
        .cycle()
        .take(20)
        .map(message)
        .collect();
    fs::write(machine.state(), json!(messages).to_string()).unwrap();
    let finished = Client::Python.run(&machine, "say:1", Confirm::Automatic);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(machine.saved_messages().len(), 22);
}
