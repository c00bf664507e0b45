use std::time::Duration;

use bytes::Bytes;
use glasspane::{AgentState, Hub, Record, Status};
use serde_json::{Value, json};
use tokio::time::advance;

use super::fleet::Fleet;
use super::{print, see};
use crate::bus::{Instance, Sight};

fn instance(service: &str, in_flight: usize) -> Instance {
    Instance {
        service: service.to_owned(),
        instance: "1f2e".to_owned(),
        host: "node-1".to_owned(),
        pid: 4711,
        version: "0.1.0".to_owned(),
        in_flight,
        capacity: 16,
        draining: false,
        ended: false,
        store_lag_ms: None,
    }
}

struct Watched {
    hub: Hub,
    fleet: Fleet,
}

impl Watched {
    fn new() -> Self {
        let hub = Hub::new();
        Self {
            fleet: Fleet::new(hub.clone()),
            hub,
        }
    }

    fn announce(&mut self, instance: Instance) {
        see(&mut self.fleet, Sight::Instance(instance));
    }

    fn event(&mut self, kind: &str, token: &str, payload: &Value) {
        let sight = Sight::Event {
            kind: kind.to_owned(),
            token: token.to_owned(),
            payload: Bytes::from(payload.to_string()),
        };
        see(&mut self.fleet, sight);
    }

    fn turn(&mut self, channel: Option<&str>, frame: &Value) {
        let payload = json!({"turn": "7", "node": "1f2e", "channel": channel, "frame": frame});
        self.event("channel", "7", &payload);
    }

    fn agent(&self, label: &str) -> AgentState {
        let agents = self.hub.snapshot().agents;
        let found = agents.into_iter().find(|agent| agent.label == label);
        found.unwrap_or_else(|| panic!("no agent {label}"))
    }

    fn statuses(&self) -> Vec<(String, Status)> {
        let agents = self.hub.snapshot().agents;
        let shown = agents.into_iter().map(|agent| {
            assert_eq!(agent.violations, Vec::<String>::new(), "{}", agent.label);
            (agent.label, agent.status)
        });
        shown.collect()
    }
}

fn labelled(label: &str, status: Status) -> (String, Status) {
    (label.to_owned(), status)
}

#[tokio::test(start_paused = true)]
async fn a_node_and_its_services_are_idle_or_busy() {
    let mut watched = Watched::new();
    watched.announce(instance("rtr", 0));
    watched.announce(instance("exc", 2));
    assert_eq!(
        watched.statuses(),
        [
            labelled("node node-1/4711", Status::RunningTool),
            labelled("rtr node-1/4711", Status::Idle),
            labelled("exc node-1/4711", Status::RunningTool),
        ]
    );
    let node = watched.agent("node node-1/4711");
    assert_eq!(node.last_text, "zino 0.1.0: exc, rtr");
    let executor = watched.agent("exc node-1/4711");
    assert_eq!(executor.parent.as_deref(), Some(node.id.as_str()));
    assert_eq!(executor.running[0].summary, "2 of 16");
    watched.announce(instance("exc", 5));
    let executor = watched.agent("exc node-1/4711");
    assert_eq!(executor.running[0].summary, "5 of 16");
    assert_eq!(executor.tools, 1, "it is the same busy time");
    watched.announce(instance("exc", 0));
    assert!(
        watched
            .statuses()
            .iter()
            .all(|(_, status)| *status == Status::Idle)
    );
    let before = watched.hub.last_seq();
    watched.announce(instance("exc", 0));
    assert_eq!(watched.hub.last_seq(), before, "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_ends_is_done_and_a_silent_one_has_failed() {
    let mut watched = Watched::new();
    watched.announce(instance("rtr", 1));
    watched.announce(instance("exc", 0));
    let draining = Instance {
        draining: true,
        ..instance("rtr", 1)
    };
    watched.announce(draining.clone());
    assert!(
        watched
            .agent("rtr node-1/4711")
            .last_text
            .ends_with("draining")
    );
    watched.announce(Instance {
        ended: true,
        ..draining
    });
    assert_eq!(watched.agent("rtr node-1/4711").status, Status::Done);
    assert_eq!(
        watched.agent("node node-1/4711").last_text,
        "zino 0.1.0: exc"
    );

    advance(Duration::from_secs(3)).await;
    watched.fleet.note_absences();
    assert_eq!(watched.agent("exc node-1/4711").status, Status::Idle);
    advance(Duration::from_secs(1)).await;
    watched.fleet.note_absences();
    let node = watched.agent("node node-1/4711");
    assert_eq!(node.status, Status::Failed);
    assert_eq!(node.error.as_deref(), Some("not heard of for 3.5 s"));
    let executor = watched.agent("exc node-1/4711");
    assert_eq!(
        executor.status,
        Status::Interrupted,
        "one failure is enough"
    );
    assert_eq!(watched.agent("rtr node-1/4711").status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_gone_because_the_watcher_was_held_up() {
    let mut watched = Watched::new();
    watched.announce(instance("rtr", 0));
    watched.fleet.look();
    advance(Duration::from_secs(60)).await;
    watched.fleet.look();
    let status = |watched: &Watched| watched.agent("node node-1/4711").status;
    assert_eq!(status(&watched), Status::Idle);
    for _ in 0..7 {
        advance(Duration::from_millis(500)).await;
        watched.fleet.look();
        assert_eq!(status(&watched), Status::Idle);
    }
    advance(Duration::from_millis(500)).await;
    watched.fleet.look();
    assert_eq!(status(&watched), Status::Failed);
}

#[tokio::test(start_paused = true)]
async fn turns_of_a_channel_are_one_agent() {
    let mut watched = Watched::new();
    for round in 1..=2_u64 {
        watched.turn(Some("ada"), &json!({"message": "hello"}));
        assert_eq!(watched.agent("channel ada").status, Status::Thinking);
        watched.turn(Some("ada"), &json!({"type": "chunk", "delta": "Hel"}));
        assert_eq!(watched.agent("channel ada").status, Status::Writing);
        let tool = "<tool_response>\n2\n</tool_response>";
        watched.turn(Some("ada"), &json!({"type": "chunk", "delta": tool}));
        watched.turn(Some("ada"), &json!({"type": "done", "full_text": "Hello!"}));
        let channel = watched.agent("channel ada");
        assert_eq!(
            (channel.status, channel.last_text.as_str()),
            (Status::Done, "Hello!")
        );
        assert_eq!((channel.tools, channel.prompts_over), (round, round));
    }
    watched.turn(Some("ada"), &json!({"message": "again"}));
    watched.event("channel", "8", &json!({"turn": "8", "channel": "ada"}));
    assert_eq!(watched.agent("channel ada").status, Status::Interrupted);
    watched.turn(Some("ada"), &json!({"message": "again"}));
    watched.turn(
        Some("ada"),
        &json!({"type": "error", "message": "rtr is away"}),
    );
    assert_eq!(
        watched.agent("channel ada").error.as_deref(),
        Some("rtr is away")
    );
    assert_eq!(watched.statuses().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_service_of_a_node_can_be_gone() {
    let mut watched = Watched::new();
    watched.announce(instance("rtr", 0));
    for _ in 0..5 {
        watched.announce(instance("exc", 0));
        advance(Duration::from_secs(1)).await;
        watched.fleet.note_absences();
    }
    assert_eq!(watched.agent("rtr node-1/4711").status, Status::Failed);
    assert_eq!(watched.agent("exc node-1/4711").status, Status::Idle);
    assert_eq!(
        watched.agent("node node-1/4711").last_text,
        "zino 0.1.0: exc"
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_interrupted_when_its_node_is_gone() {
    let mut watched = Watched::new();
    watched.announce(instance("daemon", 2));
    for channel in [Some("ada"), None] {
        watched.turn(channel, &json!({"message": "hello"}));
    }
    advance(Duration::from_secs(4)).await;
    watched.fleet.note_absences();
    for label in ["channel ada", "no channel 1"] {
        assert_eq!(watched.agent(label).status, Status::Interrupted, "{label}");
    }
    watched.event(
        "channel",
        "8",
        &json!({"turn": "8", "node": "2", "frame": {"message": "a"}}),
    );
    assert_eq!(
        watched.agent("no channel 1").status,
        Status::Thinking,
        "its place is free"
    );
}

#[tokio::test(start_paused = true)]
async fn turns_without_a_channel_share_agents() {
    let mut watched = Watched::new();
    let mut turn = |turn: &str, frame: Value| {
        watched.event("channel", turn, &json!({"turn": turn, "frame": frame}));
    };
    turn("7", json!({"message": "hello"}));
    turn("8", json!({"message": "and another at the same time"}));
    turn("7", json!({"type": "response", "content": "Hi."}));
    turn("9", json!({"message": "later"}));
    turn("9", json!({"type": "response", "content": "Bye."}));
    let first = watched.agent("no channel 1");
    assert_eq!(
        (first.status, first.last_text.as_str()),
        (Status::Done, "Bye.")
    );
    assert_eq!(first.prompts_over, 2);
    assert_eq!(watched.agent("no channel 2").status, Status::Thinking);
    assert_eq!(watched.statuses().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_read_like_zot_rpc() {
    let mut watched = Watched::new();
    for line in [
        json!({"type": "turn_start", "step": 1}),
        json!({"type": "text_delta", "delta": "I look."}),
        json!({"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "ls"}}),
    ] {
        watched.event("session", "s-1", &line);
    }
    let session = watched.agent("session s-1");
    assert_eq!(session.source, "zot");
    assert_eq!(session.last_text, "I look.");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_interrupted_when_its_worker_is_gone() {
    let mut watched = Watched::new();
    watched.announce(instance("agent.coder", 2));
    let opened = json!({"type": "session_opened", "profile": "coder", "worker": "1f2e"});
    for session in ["busy", "over", "closed"] {
        watched.event("session", session, &opened);
        watched.event(
            "session",
            session,
            &json!({"type": "turn_start", "step": 1}),
        );
    }
    watched.event(
        "session",
        "over",
        &json!({"type": "turn_end", "stop": "end"}),
    );
    watched.event("session", "over", &json!({"type": "done"}));
    let closed = |worker: &str| json!({"type": "session_closed", "worker": worker});
    watched.event("session", "closed", &closed("1f2e"));
    let status = |watched: &Watched, name: &str| watched.agent(&format!("session {name}")).status;
    assert_eq!(status(&watched, "busy"), Status::Thinking);
    assert_eq!(status(&watched, "closed"), Status::Interrupted);
    advance(Duration::from_secs(4)).await;
    watched.fleet.note_absences();
    assert_eq!(status(&watched, "busy"), Status::Interrupted);
    assert_eq!(status(&watched, "over"), Status::Done);
    // Another worker goes on with it.
    watched.event(
        "session",
        "busy",
        &json!({"type": "session_opened", "profile": "coder", "worker": "2"}),
    );
    watched.event(
        "session",
        "busy",
        &json!({"type": "user_message", "text": "go on"}),
    );
    watched.event("session", "busy", &json!({"type": "turn_start", "step": 1}));
    assert_eq!(status(&watched, "busy"), Status::Thinking);
    // The first one was only slow.
    watched.event("session", "busy", &closed("1f2e"));
    assert_eq!(status(&watched, "busy"), Status::Thinking);
    assert_eq!(
        watched.agent("session busy").violations,
        Vec::<String>::new()
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_understood_is_ignored_and_records_are_lines() {
    let mut watched = Watched::new();
    let mut records = watched.hub.subscribe(0);
    watched.event("weather", "x", &json!({}));
    watched.event("channel", "x", &json!({"channel": 1}));
    watched.announce(instance("rtr", 0));
    let mut output = Vec::new();
    print(&mut records, &mut output).unwrap();
    let lines = String::from_utf8(output).unwrap();
    let records: Vec<Record> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records[0].seq, 1);
    assert_eq!(
        records[0].attached.as_ref().unwrap().label,
        "node node-1/4711"
    );
    assert!(
        records
            .iter()
            .all(|record| record.agent == "a1" || record.agent == "a2")
    );
}
