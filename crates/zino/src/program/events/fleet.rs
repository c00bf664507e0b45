//! Everything on the bus as agents of Glasspane: nodes, their services, channels and sessions.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use glasspane::attach::Feed;
use glasspane::source::{Finding, SourceKind};
use glasspane::{Attached, Detached, Event, Hub};
use tokio::time::Instant;

use super::card::Card;
use crate::agents::{SESSION_EVENTS, SessionLine};
use crate::bus::Instance;
use crate::daemon::{CHANNEL_EVENTS, TurnEvent};
use crate::metrics::Load;

/// How often it is checked who has not been heard of.
pub(super) const ABSENCE_INTERVAL: Duration = Duration::from_millis(500);

/// How late a look may be before it says nothing about others.
const STALL_TIME: Duration = Duration::from_secs(1);

/// How long an instance counts as there after it has last announced itself, which it does every second.
///
/// Limit: an instance that is silent for longer is shown as failed.
const ABSENCE_TIME: Duration = Duration::from_millis(3500);

/// The same for one service of a node that is heard of.
const SERVICE_ABSENCE_TIME: Duration = Duration::from_millis(4500);

/// How many turns without a channel are shown at a time.
///
/// Limit: further turns without a channel are not shown.
const MAX_SHOWN_TURNS: usize = 64;

/// How many channels and sessions are followed; beyond that the one silent longest is left.
///
/// Limit: the channel or session that was silent longest is no longer followed.
const MAX_FOLLOWED: usize = 5_000;

pub(super) struct Fleet {
    hub: Hub,
    /// By the instance that a process has on the bus.
    nodes: BTreeMap<String, Node>,
    followed: HashMap<Subject, Followed>,
    /// The turns without a channel that are going on, each at the place that its agent shows.
    turns: Vec<Option<String>>,
    /// When absences were last looked for.
    looked: Instant,
    /// When this process could last hear of others again, after it was held up.
    resumed: Instant,
}

struct Node {
    card: Card,
    /// When it was first heard of.
    seen: Instant,
    name: String,
    version: String,
    services: BTreeMap<String, Service>,
}

struct Service {
    card: Card,
    announced: Instance,
    heard: Instant,
}

/// What events are about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    Channel(String),
    /// Turns that belong to no channel, one after the other.
    Turns {
        place: usize,
    },
    Session(String),
}

struct Followed {
    feed: Feed,
    heard: Instant,
    /// The instance that works on it.
    worker: Option<String>,
}

impl Fleet {
    pub(super) fn new(hub: Hub) -> Self {
        Self {
            hub,
            nodes: BTreeMap::new(),
            followed: HashMap::new(),
            turns: Vec::new(),
            looked: Instant::now(),
            resumed: Instant::now(),
        }
    }

    pub(super) fn see_instance(&mut self, instance: Instance) {
        if instance.ended {
            return self.end_service(&instance);
        }
        let hub = &self.hub;
        let id = instance.instance.clone();
        let node = self.nodes.entry(id).or_insert_with(|| {
            let name = format!("{}/{}", instance.host, instance.pid);
            Node {
                card: Card::new(hub, format!("node {name}"), None),
                seen: Instant::now(),
                name,
                version: instance.version.clone(),
                services: BTreeMap::new(),
            }
        });
        let service = node
            .services
            .entry(instance.service.clone())
            .or_insert_with(|| Service {
                card: Card::new(
                    hub,
                    format!("{} {}", instance.service, node.name),
                    Some(node.card.id()),
                ),
                announced: Instance {
                    draining: false,
                    ..instance.clone()
                },
                heard: Instant::now(),
            });
        if instance.draining && !service.announced.draining {
            service.card.notice("draining: it takes no new requests");
        }
        service.heard = Instant::now();
        service.card.show(load(&instance), describe(&instance));
        service.announced = instance;
        node.show();
    }

    /// Looks for absences, every [`ABSENCE_INTERVAL`]. A look that is late says more about this process
    /// than about others: the reader of its output may have stopped.
    pub(super) fn look(&mut self) {
        if self.looked.elapsed() > ABSENCE_INTERVAL + STALL_TIME {
            self.resumed = Instant::now();
        }
        self.looked = Instant::now();
        self.note_absences();
    }

    /// Shows nodes and services as failed that were not heard of.
    pub(super) fn note_absences(&mut self) {
        let resumed = self.resumed;
        let silence = |heard: Instant| heard.max(resumed).elapsed();
        let is_lost = |node: &Node| silence(node.heard()) > ABSENCE_TIME;
        let lost = self.nodes.iter().filter(|(_, node)| is_lost(node));
        let lost: Vec<String> = lost.map(|(id, _)| id.clone()).collect();
        for id in lost {
            if let Some(node) = self.nodes.remove(&id) {
                for service in node.services.into_values() {
                    service.card.go_with_node();
                }
                node.card.lose(&absence());
                self.lose_worker(&id);
            }
        }
        for node in self.nodes.values_mut() {
            let is_absent = |service: &Service| silence(service.heard) > SERVICE_ABSENCE_TIME;
            let services = std::mem::take(&mut node.services);
            let (absent, present): (BTreeMap<_, _>, _) = services
                .into_iter()
                .partition(|(_, service)| is_absent(service));
            node.services = present;
            for service in absent.into_values() {
                service.card.lose(&absence());
            }
            node.show();
        }
    }

    pub(super) fn see_event(&mut self, kind: &str, token: &str, payload: &[u8]) {
        match kind {
            CHANNEL_EVENTS => self.see_turn(payload),
            SESSION_EVENTS => self.see_session(token, payload),
            // Of a later version.
            _ => {}
        }
    }

    fn see_turn(&mut self, payload: &[u8]) {
        let Ok(event) = serde_json::from_slice::<TurnEvent>(payload) else {
            return;
        };
        let is_over = event.frame.as_ref().is_none_or(is_last);
        let subject = match event.channel {
            Some(channel) => Subject::Channel(channel),
            None => match self.place_of(event.turn, is_over) {
                Some(place) => Subject::Turns { place },
                None => return,
            },
        };
        let known = self.follow(subject);
        match event.frame {
            Some(frame) => known.feed.feed(format!("{frame}\n").as_bytes()),
            None => known.report(Event::aborted()),
        }
        known.worker = (!is_over).then_some(event.node);
    }

    /// Returns where a turn without a channel is shown; its place is free when it is over.
    fn place_of(&mut self, turn: String, is_over: bool) -> Option<usize> {
        let known = self
            .turns
            .iter()
            .position(|other| other.as_ref() == Some(&turn));
        let free = self.turns.iter().position(Option::is_none);
        let place = match known.or(free) {
            Some(place) => place,
            None if self.turns.len() < MAX_SHOWN_TURNS => {
                self.turns.push(None);
                self.turns.len() - 1
            }
            None => return None,
        };
        self.turns[place] = (!is_over).then_some(turn);
        Some(place)
    }

    fn see_session(&mut self, session: &str, line: &[u8]) {
        let hub = self.hub.clone();
        let known = self.follow(Subject::Session(session.to_owned()));
        match serde_json::from_slice(line) {
            Ok(SessionLine::Opened { profile, worker }) => {
                let notice = format!("opened by worker {worker}, profile {profile}");
                known.report(Event::notice(notice));
                known.worker = Some(worker);
            }
            Ok(SessionLine::Closed { worker }) => {
                // Not if another worker has opened it since.
                if known.worker.as_ref().is_none_or(|known| *known == worker) {
                    known.worker = None;
                    known.interrupt(&hub, "closed");
                }
            }
            // A line of zot.
            Err(_) => {
                known.feed.feed(line);
                known.feed.feed(b"\n");
            }
        }
    }

    /// Shows that what an instance was doing has broken off.
    fn lose_worker(&mut self, worker: &str) {
        let lost = self.followed.iter_mut();
        for (subject, known) in lost.filter(|(_, known)| known.worker.as_deref() == Some(worker)) {
            known.worker = None;
            known.interrupt(&self.hub, "its node is gone");
            if let Subject::Turns { place } = subject
                && let Some(turn) = self.turns.get_mut(*place)
            {
                *turn = None;
            }
        }
    }

    /// Returns what reads the lines about a subject, which is an agent of its own.
    fn follow(&mut self, subject: Subject) -> &mut Followed {
        if self.followed.len() >= MAX_FOLLOWED && !self.followed.contains_key(&subject) {
            let silent = self.followed.iter().min_by_key(|(_, known)| known.heard);
            if let Some(silent) = silent.map(|(subject, _)| subject.clone()) {
                self.leave(&silent, "no longer followed");
            }
        }
        let hub = &self.hub;
        let known = self.followed.entry(subject).or_insert_with_key(|subject| {
            let attached = Attached {
                label: subject.label(),
                ..Attached::default()
            };
            let mut feed = Feed::new(hub, attached, Some(subject.source()));
            feed.attach();
            Followed {
                feed,
                heard: Instant::now(),
                worker: None,
            }
        });
        known.heard = Instant::now();
        known
    }

    fn leave(&mut self, subject: &Subject, reason: &str) {
        if let Some(followed) = self.followed.remove(subject) {
            followed.feed.finish(Detached {
                reason: reason.to_owned(),
                ..Detached::default()
            });
        }
    }

    fn end_service(&mut self, instance: &Instance) {
        let Some(node) = self.nodes.get_mut(&instance.instance) else {
            return;
        };
        if let Some(service) = node.services.remove(&instance.service) {
            service.card.end();
        }
        if !node.services.is_empty() {
            return node.show();
        }
        if let Some(node) = self.nodes.remove(&instance.instance) {
            node.card.end();
            self.lose_worker(&instance.instance);
        }
    }
}

impl Followed {
    fn report(&mut self, event: Event) {
        self.feed.report_finding(Finding::Event(event));
    }

    /// Shows that what was going on has broken off.
    fn interrupt(&mut self, hub: &Hub, reason: &str) {
        self.report(Event::notice(reason));
        let state = self.feed.id().and_then(|id| hub.agent(id));
        if state.is_some_and(|state| state.status.is_working()) {
            self.report(Event::aborted());
        }
    }
}

impl Node {
    /// When it was last heard of.
    fn heard(&self) -> Instant {
        let heard = self.services.values().map(|service| service.heard);
        heard.max().unwrap_or(self.seen)
    }

    fn show(&mut self) {
        let in_flight = |service: &Service| service.announced.in_flight;
        let load = Load {
            in_flight: self.services.values().map(in_flight).sum(),
            capacity: 0,
        };
        let names: Vec<&str> = self.services.keys().map(String::as_str).collect();
        let text = format!("zino {}: {}", self.version, names.join(", "));
        self.card.show(load, text);
    }
}

impl Subject {
    fn label(&self) -> String {
        match self {
            Self::Channel(channel) => format!("channel {channel}"),
            Self::Turns { place } => format!("no channel {}", place + 1),
            Self::Session(session) => format!("session {session}"),
        }
    }

    fn source(&self) -> SourceKind {
        match self {
            Self::Channel(_) | Self::Turns { .. } => SourceKind::Zino,
            Self::Session(_) => SourceKind::Zot,
        }
    }
}

fn load(instance: &Instance) -> Load {
    Load {
        in_flight: instance.in_flight,
        capacity: instance.capacity,
    }
}

/// What is shown of a service besides its load; the store's lag only roughly, since it always changes.
fn describe(instance: &Instance) -> String {
    let mut words = format!("{} at a time", instance.capacity);
    if let Some(lag) = instance.store_lag_ms {
        let step = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0]
            .into_iter()
            .find(|step| lag <= *step);
        words.push_str(&match step {
            Some(step) => format!(", the store takes up to {step} ms"),
            None => ", the store takes more than 3 s".to_owned(),
        });
    }
    if instance.draining {
        words.push_str(", draining");
    }
    words
}

/// Whether a frame ends its turn.
fn is_last(frame: &serde_json::Value) -> bool {
    matches!(frame["type"].as_str(), Some("done" | "response" | "error"))
}

fn absence() -> String {
    format!("not heard of for {:.1} s", ABSENCE_TIME.as_secs_f64())
}
