use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use zot_files::SocketError;

use super::{BindError, FileError, FileFeed, Launch, Listener, Watcher, accept_agents, run_agent};
use crate::record::Attached;
use crate::source::SourceKind;
use crate::{AgentState, Hub, Status};

const TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits until `matches` holds for some agent.
async fn until(hub: &Hub, matches: impl Fn(&AgentState) -> bool) -> AgentState {
    let search = async {
        loop {
            if let Some(agent) = hub.snapshot().agents.into_iter().find(&matches) {
                return agent;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    match timeout(TEST_TIMEOUT, search).await {
        Ok(agent) => agent,
        Err(_) => panic!("not in {:#?}", hub.snapshot()),
    }
}

fn turn(step: u64) -> String {
    format!(
        "{{\"type\":\"turn_start\",\"step\":{step}}}\n{{\"type\":\"turn_end\",\"stop\":\"end\"}}\n"
    )
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

struct Following {
    hub: Hub,
    path: PathBuf,
    tasks: JoinSet<Result<(), FileError>>,
    cancel: CancellationToken,
    _directory: TempDir,
}

/// Follows a file that does not exist yet.
fn follow() -> Following {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.jsonl");
    let (hub, cancel) = (Hub::new(), CancellationToken::new());
    let file = FileFeed::new(&hub, &path, Attached::default(), None).unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(file.follow(cancel.clone()));
    Following {
        hub,
        path,
        tasks,
        cancel,
        _directory: directory,
    }
}

impl Following {
    async fn turns(&self, turns: u64) -> AgentState {
        until(&self.hub, |agent| {
            agent.turns == turns && agent.status == Status::Idle
        })
        .await
    }

    async fn stop(mut self) {
        self.cancel.cancel();
        self.tasks.join_next().await.unwrap().unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_file_can_be_followed_before_it_exists() {
    let following = follow();
    append(&following.path, &turn(1));
    following.turns(1).await;
    // An incomplete line is read once it is complete.
    let more = turn(2);
    let (begin, rest) = more.split_at(10);
    append(&following.path, begin);
    sleep(super::POLL_INTERVAL * 2).await;
    append(&following.path, rest);
    let state = following.turns(2).await;
    assert_eq!((state.unknown, state.source.as_str()), (0, "zot"));
    following.stop().await;
}

#[tokio::test]
async fn a_truncated_file_is_read_from_the_start() {
    let following = follow();
    append(&following.path, &format!("{}{}{{\"torn", turn(1), turn(2)));
    following.turns(2).await;
    fs::write(&following.path, turn(1)).unwrap();
    let state = following.turns(3).await;
    assert_eq!(state.unknown, 0);
    following.stop().await;
}

#[tokio::test]
async fn a_rotated_file_is_read_to_its_end_before_the_new_one() {
    let following = follow();
    append(&following.path, &turn(1));
    following.turns(1).await;
    let old = following.path.with_extension("1");
    fs::rename(&following.path, &old).unwrap();
    append(&old, &turn(2));
    following.turns(2).await;
    append(&following.path, &turn(3));
    following.turns(3).await;
    assert_eq!(following.hub.snapshot().agents.len(), 1);
    following.stop().await;
}

#[tokio::test]
async fn a_directory_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let result = FileFeed::new(&Hub::new(), directory.path(), Attached::default(), None);
    assert!(matches!(result.err(), Some(FileError::NotAFile { .. })));
}

#[tokio::test]
async fn a_child_has_its_parent_live_and_in_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let recorded = directory.path().join("claude.jsonl");
    let lines = include_bytes!("../../tests/fixtures/claude-code-children.jsonl");
    fs::write(&recorded, lines).unwrap();
    let log = directory.path().join("log.jsonl");
    let lines = "{\"seq\":1,\"at_ms\":5,\"agent\":\"x\",\"attached\":{\"label\":\"claude\",\"source\":\"pi\"}}\n\
                 {\"seq\":2,\"at_ms\":6,\"agent\":\"y\",\"attached\":{\"label\":\"claude › child\",\"source\":\"pi\",\"parent\":\"x\"}}\n";
    fs::write(&log, lines).unwrap();
    for path in [&recorded, &log] {
        let hub = Hub::new();
        // Makes the ids of the hub differ from those of the log.
        hub.attach(Attached::default());
        let attached = Attached {
            label: "claude".to_owned(),
            ..Attached::default()
        };
        let file = FileFeed::new(&hub, path, attached, None).unwrap();
        file.read_once().await.unwrap();
        let agents = hub.snapshot().agents;
        assert_eq!(agents.len(), 3);
        assert_eq!(agents[1].label, "claude");
        assert!(
            agents[2].label.starts_with("claude › "),
            "{}",
            agents[2].label
        );
        assert_eq!(agents[2].parent.as_ref(), Some(&agents[1].id));
    }
}

#[tokio::test]
async fn a_log_creates_its_agents() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    let lines = "{\"seq\":1,\"at_ms\":5,\"agent\":\"x\",\"attached\":{\"label\":\"one\",\"source\":\"pi\"}}\n\
                 {\"seq\":2,\"at_ms\":6,\"agent\":\"y\",\"event\":{\"type\":\"turn_start\",\"step\":1}}\n\
                 {\"seq\":3,\"at_ms\":7,\"agent\":\"x\",\"event\":{\"type\":\"agent_end\"}}\n";
    fs::write(&path, lines).unwrap();
    let hub = Hub::new();
    let file = FileFeed::new(&hub, &path, Attached::default(), None).unwrap();
    file.read_once().await.unwrap();
    let agents = hub.snapshot().agents;
    let shown: Vec<_> = agents
        .iter()
        .map(|agent| {
            (
                agent.label.as_str(),
                agent.source.as_str(),
                agent.status,
                agent.last_ms,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("one", "pi", Status::Done, 7),
            ("y", "glasspane", Status::Thinking, 6)
        ]
    );
}

struct Served {
    hub: Hub,
    path: PathBuf,
    tasks: JoinSet<()>,
    cancel: CancellationToken,
    _directory: TempDir,
}

fn serve() -> Served {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("private/glasspane.sock");
    let (hub, cancel) = (Hub::new(), CancellationToken::new());
    let listener = Listener::bind(&path).unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(accept_agents(hub.clone(), listener, cancel.clone()));
    Served {
        hub,
        path,
        tasks,
        cancel,
        _directory: directory,
    }
}

impl Served {
    async fn connect(&self, lines: &str) -> UnixStream {
        let mut stream = UnixStream::connect(&self.path).await.unwrap();
        stream.write_all(lines.as_bytes()).await.unwrap();
        stream
    }

    async fn stop(mut self) {
        self.cancel.cancel();
        timeout(TEST_TIMEOUT, self.tasks.join_next()).await.unwrap();
        assert!(!self.path.exists(), "the socket is left behind");
    }
}

#[tokio::test]
async fn agents_attach_over_a_socket() {
    let served = serve();
    let hello =
        "{\"glasspane\":\"attach\",\"label\":\"tests\",\"source\":\"pi\",\"model\":\"m\"}\n";
    let named = served
        .connect(&format!("{hello}{{\"type\":\"agent_start\"}}\n"))
        .await;
    let unnamed = served.connect(&turn(1)).await;
    let state = until(&served.hub, |agent| {
        agent.label == "tests" && agent.status == Status::Thinking
    })
    .await;
    assert_eq!(
        (state.source.as_str(), state.model.as_deref()),
        ("pi", Some("m"))
    );
    until(&served.hub, |agent| {
        agent.label.starts_with("process ") && agent.turns == 1
    })
    .await;
    drop((named, unnamed));
    until(&served.hub, |agent| {
        agent.label == "tests" && agent.status == Status::Interrupted
    })
    .await;
    // A turn was over, but not the prompt.
    until(&served.hub, |agent| {
        agent.turns == 1 && agent.status == Status::Interrupted
    })
    .await;
    served.stop().await;
}

/// What `zino events` prints: records of several agents.
const RECORDS: &str = include_str!("../../tests/fixtures/zino-events.jsonl");

fn shown(hub: &Hub) -> Vec<(String, Status)> {
    let agents = hub.snapshot().agents;
    let shown = agents.into_iter().map(|agent| (agent.label, agent.status));
    shown.collect()
}

#[tokio::test]
async fn one_connection_carries_several_agents() {
    let served = serve();
    let stream = served.connect(RECORDS).await;
    until(&served.hub, |agent| {
        agent.label == "channel ada" && agent.status == Status::Done
    })
    .await;
    let agents = served.hub.snapshot().agents;
    assert_eq!(
        shown(&served.hub),
        [
            ("node-1 (4711)".to_owned(), Status::Idle),
            ("rtr on node-1 (4711)".to_owned(), Status::RunningTool),
            ("channel ada".to_owned(), Status::Done),
        ],
        "the connection itself is not an agent"
    );
    assert_eq!(agents[1].parent.as_ref(), Some(&agents[0].id));
    drop(stream);
    until(&served.hub, |agent| agent.status == Status::Interrupted).await;
    let agents = served.hub.snapshot().agents;
    let reason = agents[0].detached.clone().unwrap();
    assert!(reason.ends_with(": disconnected"), "{reason}");
    assert_eq!(agents[2].status, Status::Done, "what was over stays so");
    served.stop().await;
}

#[tokio::test]
async fn a_program_that_prints_records_is_not_an_agent_unless_it_fails() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/zino-events.jsonl"
    );
    for (kind, carrier) in [
        (Some(SourceKind::Glasspane), None),
        (None, Some(Status::Done)),
    ] {
        for code in [0, 3] {
            let hub = Hub::new();
            let launch = Launch {
                kind,
                ..launch(&format!("cat {path}; exit {code}"))
            };
            let ended = run(&hub, launch).await;
            assert_eq!(ended.exit_code, code);
            let carriers = shown(&hub)
                .into_iter()
                .filter(|(label, _)| label == "agent");
            let carriers: Vec<_> = carriers.map(|(_, status)| status).collect();
            let failed = (code != 0).then_some(Status::Failed);
            assert_eq!(
                carriers,
                carrier.into_iter().chain(failed).collect::<Vec<_>>()
            );
            assert_eq!(shown(&hub).len(), 3 + carriers.len());
        }
    }
}

#[test]
fn a_command_suggests_what_it_prints() {
    for (line, kind) in [
        ("zino events", Some(SourceKind::Glasspane)),
        (
            "ZINO_CONFIG=/etc/z.toml /usr/bin/zino events -c x",
            Some(SourceKind::Glasspane),
        ),
        ("fleet=zino events", Some(SourceKind::Glasspane)),
        ("zino attach --profile coder", Some(SourceKind::Zot)),
        ("zino-events", Some(SourceKind::Glasspane)),
        ("zino cli --stream hello", Some(SourceKind::Zino)),
        ("zot rpc", Some(SourceKind::Zot)),
        ("glasspane tail", Some(SourceKind::Glasspane)),
        ("glasspane top", None),
    ] {
        assert_eq!(Launch::shell(line).unwrap().suggested, kind, "{line}");
    }
}

#[tokio::test]
async fn a_socket_accepts_frames_too() {
    let served = serve();
    let mut stream = served.connect("").await;
    let frames = include_bytes!("../../tests/fixtures/zino-frames.bin");
    stream.write_all(frames).await.unwrap();
    let state = until(&served.hub, |agent| agent.status == Status::Done).await;
    assert_eq!((state.source.as_str(), state.tools), ("zino", 1));
    served.stop().await;
}

#[tokio::test]
async fn a_watcher_sees_what_the_hub_sees() {
    let served = serve();
    let agent = served.hub.attach(Attached {
        label: "one".to_owned(),
        ..Attached::default()
    });
    let mut watcher = Watcher::connect(&served.path).await.unwrap();
    assert!(
        timeout(TEST_TIMEOUT, watcher.changed())
            .await
            .unwrap()
            .unwrap()
    );
    assert_eq!(watcher.agents(), served.hub.snapshot().agents);
    agent.event(crate::Event::turn_start(1));
    served.hub.attach(Attached::default());
    while watcher.agents() != served.hub.snapshot().agents {
        assert!(
            timeout(TEST_TIMEOUT, watcher.changed())
                .await
                .unwrap()
                .unwrap()
        );
    }
    served.stop().await;
    assert!(!watcher.changed().await.unwrap());
}

#[tokio::test]
async fn only_the_owner_can_use_the_socket() {
    let served = serve();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&served.path), 0o600);
    assert_eq!(mode(served.path.parent().unwrap()), 0o700);
    assert!(matches!(
        Listener::bind(&served.path),
        Err(BindError::Socket(SocketError::Live(_)))
    ));
    served.stop().await;

    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let open = Listener::bind(&directory.path().join("s"));
    assert!(matches!(open, Err(BindError::DirectoryNotPrivate(_))));
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(directory.path().join("s"), "precious").unwrap();
    assert!(matches!(
        Listener::bind(&directory.path().join("s")),
        Err(BindError::Socket(SocketError::NotASocket(_)))
    ));
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let path = directory.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    Listener::bind(&path).unwrap();
}

fn launch(script: &str) -> Launch {
    Launch {
        label: "agent".to_owned(),
        command: ["sh", "-c", script].map(OsString::from).to_vec(),
        ..Launch::default()
    }
}

async fn run(hub: &Hub, launch: Launch) -> super::Ended {
    let running = run_agent(hub, launch, CancellationToken::new());
    timeout(TEST_TIMEOUT, running).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_command_is_watched_to_its_end() {
    let hub = Hub::new();
    let script = "echo '{\"type\":\"turn_start\",\"step\":1}'; echo oops >&2; printf '{\"type\":\"turn_end\",\"stop\":\"end\"}'; exit 7";
    let ended = run(&hub, launch(script)).await;
    assert_eq!(
        (ended.exit_code, ended.status, ended.verdict()),
        (7, Status::Failed, 7)
    );
    let state = hub.snapshot().agents.remove(0);
    assert_eq!((state.turns, state.violation_count), (1, 0));
    assert_eq!(state.error.as_deref(), Some("exited with 7"));
    let (_, history) = hub.snapshot_with_history();
    let notices: Vec<_> = history[&state.id]
        .iter()
        .filter_map(|record| record.event.as_ref()?.message.clone())
        .collect();
    assert_eq!(notices, ["oops"]);
}

#[tokio::test]
async fn a_reported_failure_counts_even_with_exit_code_0() {
    let ended = run(
        &Hub::new(),
        launch("echo '{\"type\":\"error\",\"message\":\"no key\"}'"),
    )
    .await;
    assert_eq!((ended.exit_code, ended.verdict()), (0, 1));
}

#[tokio::test]
async fn prompts_are_sent_one_after_the_other() {
    let hub = Hub::new();
    let script = r#"while read -r line; do
        printf '{"type":"user_message","content":[{"type":"text","text":"%s"}]}\n' "${#line}"
        echo '{"type":"done"}'
    done"#;
    let prompted = Launch {
        kind: Some(SourceKind::Zot),
        prompts: vec!["one".to_owned(), "three".to_owned()],
        ..launch(script)
    };
    let ended = run(&hub, prompted).await;
    let state = hub.snapshot().agents.remove(0);
    assert_eq!(
        (state.prompts_over, state.status, ended.exit_code),
        (2, Status::Done, 0)
    );
}

#[tokio::test]
async fn an_agent_that_accepts_no_prompts_is_not_started() {
    let prompted = Launch {
        prompts: vec!["hello".to_owned()],
        ..launch("true")
    };
    let result = run_agent(&Hub::new(), prompted, CancellationToken::new()).await;
    assert!(result.unwrap_err().to_string().contains("--source"));
    let missing = Launch {
        command: vec![OsString::from("/no/such/agent")],
        ..Launch::default()
    };
    let result = run_agent(&Hub::new(), missing, CancellationToken::new()).await;
    assert!(result.unwrap_err().to_string().contains("PATH"));
}

#[tokio::test]
async fn cancelling_ends_an_agent_and_all_it_started() {
    let hub = Hub::new();
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let script = format!(
        "sleep 1000 & echo $! > {}.new; mv {0}.new {0}; echo; wait",
        pid.display()
    );
    let cancel = CancellationToken::new();
    let running = run_agent(&hub, launch(&script), cancel.clone());
    let stop = async {
        while !pid.exists() {
            sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (ended, ()) = timeout(TEST_TIMEOUT, async { tokio::join!(running, stop) })
        .await
        .unwrap();
    assert_ne!(ended.unwrap().exit_code, 0);
    let child = fs::read_to_string(&pid).unwrap();
    // A zombie counts as gone.
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(
        stat.is_empty() || stat.contains(") Z "),
        "the child is still alive: {stat}"
    );
}

#[tokio::test]
async fn output_held_open_by_a_daemon_is_not_waited_for() {
    let script = "(trap '' TERM HUP; sleep 1000) & echo '{\"type\":\"done\"}'";
    let hub = Hub::new();
    let ended = run(&hub, launch(script)).await;
    assert_eq!((ended.exit_code, ended.status), (0, Status::Done));
}
