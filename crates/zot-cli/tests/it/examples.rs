//! The clients in `examples/rpc`, which rely on `docs/rpc.md`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use testkit::{Finished, ModelServer, Signal, Wire, Workdir, ZotCommand, poll_until};

use crate::support::binary;

#[derive(Debug, Clone, Copy)]
enum Client {
    Go,
    Node,
    Python,
    Shell,
}

impl Client {
    /// Returns all clients; fails if this machine lacks what one of them needs.
    fn all() -> Vec<Self> {
        let all = vec![Self::Go, Self::Node, Self::Python, Self::Shell];
        for client in &all {
            assert!(
                client.is_usable(),
                "examples/rpc, the {client:?} client: {}; scripts/test installs what is missing",
                client.needs()
            );
        }
        all
    }

    fn needs(self) -> &'static str {
        match self {
            Self::Go => "needs go 1.19 (Debian: golang-go)",
            Self::Node => "needs node 18",
            Self::Python => "needs python3, 3.8 or newer",
            Self::Shell => "needs bash 4 and jq",
        }
    }

    fn is_usable(self) -> bool {
        let (program, arguments) = match self {
            Self::Go => return go_client().is_some(),
            Self::Node => (
                "node",
                [
                    "-e",
                    "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)",
                ],
            ),
            Self::Python => (
                "python3",
                ["-c", "import sys; sys.exit(sys.version_info < (3, 8))"],
            ),
            Self::Shell => ("bash", ["-c", "((BASH_VERSINFO[0] >= 4)) && command -v jq"]),
        };
        let found = Command::new(program).args(arguments).output();
        found.is_ok_and(|output| output.status.success())
    }

    /// Runs the client once.
    fn command(self, machine: &Machine, prompt: &str, approval: Approval) -> ZotCommand {
        let workdir = &machine.workdir;
        let client = match self {
            Self::Go => ZotCommand::new(go_client().unwrap(), workdir),
            Self::Node => ZotCommand::new("node", workdir).argument(examples("node/client.mjs")),
            Self::Python => {
                ZotCommand::new("python3", workdir).argument(examples("python/client.py"))
            }
            Self::Shell => ZotCommand::new("bash", workdir).argument(examples("shell/client.sh")),
        };
        client
            .arguments(matches!(approval, Approval::Yes).then_some("--yes"))
            .argument(prompt)
            .env("ZOT", binary())
            .model(&machine.server, Wire::OpenAi)
            .arguments(["--system-prompt", "SYS", "--confirm"])
    }

    fn run(self, machine: &Machine, prompt: &str, approval: Approval) -> Finished {
        self.command(machine, prompt, approval).run("")
    }
}

#[derive(Clone, Copy)]
enum Approval {
    Yes,
    No,
}

fn examples(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/rpc")
        .join(path)
}

/// The client in Go, compiled once; none on a machine without Go.
fn go_client() -> Option<&'static Path> {
    static CLIENT: OnceLock<Option<PathBuf>> = OnceLock::new();
    CLIENT
        .get_or_init(|| {
            Command::new("go").arg("version").output().ok()?;
            let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
            // Tests run in parallel processes: none may see a half-written file.
            let built = directory.join(format!("rpc-client-{}", std::process::id()));
            let output = go(&["build", "-o", built.to_str().unwrap(), "."]);
            assert!(output.status.success(), "{output:?}");
            let client = directory.join("rpc-client");
            std::fs::rename(built, &client).unwrap();
            Some(client)
        })
        .as_deref()
}

/// Runs `go` on the client, without a network.
fn go(arguments: &[&str]) -> Output {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    Command::new("go")
        .args(arguments)
        .current_dir(examples("go"))
        .env("GOFLAGS", "-mod=mod")
        .env("GOPROXY", "off")
        .env("GOCACHE", cache)
        .output()
        .unwrap()
}

/// Where a client runs: a model and a working directory.
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
}

#[test]
fn clients_print_the_answer() {
    for client in Client::all() {
        let machine = Machine::new();
        let finished = client.run(&machine, "say:3", Approval::No);
        assert_eq!(finished.code, Some(0), "{client:?}: {}", finished.stderr);
        assert_eq!(finished.stdout, "alpha beta gamm \n");
        // Characters that other readers take for line ends, and some they may cut in two.
        let finished = client.run(&machine, "raw:a\u{2028}b\u{85}c \u{1f98a}", Approval::No);
        assert_eq!(
            finished.stdout, "a\u{2028}b\u{85}c \u{1f98a}\n",
            "{client:?}"
        );
    }
}

#[test]
fn clients_answer_confirmations_as_the_option_says() {
    for client in Client::all() {
        for (approval, runs, printed) in [
            (Approval::Yes, true, "allowed: bash: touch made\n"),
            (Approval::No, false, "refused: bash: touch made\n"),
        ] {
            let machine = Machine::new();
            let prompt = r#"tool:bash:{"command": "touch made"}"#;
            let finished = client.run(&machine, prompt, approval);
            assert_eq!(finished.code, Some(0), "{client:?}: {}", finished.stderr);
            assert_eq!(machine.workdir.path().join("made").exists(), runs);
            assert!(finished.stderr.contains("-> bash {"), "{}", finished.stderr);
            assert!(finished.stderr.contains(printed), "{}", finished.stderr);
        }
    }
}

#[test]
fn clients_report_errors() {
    for client in Client::all() {
        let machine = Machine::new();
        let finished = client.run(&machine, "err:429:slow down", Approval::No);
        assert_eq!(finished.code, Some(1), "{client:?}");
        let stderr = finished.stderr;
        assert!(stderr.contains("error (rate_limited)"), "{stderr}");

        let finished = client.run(&machine, "", Approval::No);
        assert_eq!(finished.code, Some(1), "{client:?}");
        let stderr = finished.stderr;
        assert!(stderr.contains("(invalid_argument)"), "{stderr}");

        let nonsense = client.command(&machine, "say:1", Approval::No);
        let finished = nonsense.argument("--dance").run("");
        assert_eq!(finished.code, Some(1), "{client:?}");
        assert!(finished.stderr.contains("zot ended"), "{}", finished.stderr);
    }
}

#[test]
fn an_interrupt_aborts_the_prompt_and_not_zot() {
    for client in Client::all() {
        let machine = Machine::new();
        let made = machine.workdir.path().join("made");
        let prompt = r#"tool:bash:{"command": "touch made; sleep 60"}"#;
        let running = client.command(&machine, prompt, Approval::Yes).spawn();
        poll_until("the tool runs", || made.exists());
        running.signal(Signal::INT);
        let finished = running.finish();
        // A client whose zot was killed reports it with another exit code.
        assert_eq!(finished.code, Some(130), "{client:?}: {}", finished.stderr);

        let machine = Machine::new();
        let running = client.command(&machine, "hang", Approval::Yes).spawn();
        poll_until("the model is asked", || {
            !machine.server.requests().is_empty()
        });
        running.signal(Signal::INT);
        assert_eq!(running.finish().code, Some(130), "{client:?}");
    }
}

#[test]
fn the_client_in_go_is_vetted() {
    if Client::all()
        .iter()
        .any(|client| matches!(client, Client::Go))
    {
        let output = go(&["vet", "."]);
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn clients_stay_small() {
    for path in [
        "go/main.go",
        "node/client.mjs",
        "python/client.py",
        "shell/client.sh",
    ] {
        let lines = std::fs::read_to_string(examples(path))
            .unwrap()
            .lines()
            .count();
        assert!(lines < 100, "{path} has {lines} lines");
    }
}
