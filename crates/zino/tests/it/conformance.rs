//! The same exchanges in one process, over Unix sockets, over TLS and over the bus, with files and with
//! PostgreSQL: the responses are equal byte for byte.

mod exchanges;
mod nats;
mod tls;

use std::fs;
use std::io::{ErrorKind, Read, Write as _};
use std::thread;

use serde_json::{Value, json};
use testkit::nats::Nats;
use testkit::postgres::{Database, Postgres};
use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind;

use crate::installation::Installation;
use exchanges::{Exchange, Step, steps};
use nats::Answer;
use tls::Network;

/// The bodies of the frames of a response.
type Frames = Vec<Vec<u8>>;

/// What an exchange that has no equal on a transport leaves.
const NO_EQUAL: &str = "without an equal";

/// How the services of a cell call each other, and how the test calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    OneProcess,
    Unix,
    Tls,
    Nats,
}

/// Where `mem` stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Files,
    Postgres,
}

/// One combination.
#[derive(Debug, Clone, Copy)]
struct Cell(Transport, Store);

const CELLS: [Cell; 8] = [
    Cell(Transport::OneProcess, Store::Files),
    Cell(Transport::Unix, Store::Files),
    Cell(Transport::Tls, Store::Files),
    Cell(Transport::Nats, Store::Files),
    Cell(Transport::OneProcess, Store::Postgres),
    Cell(Transport::Unix, Store::Postgres),
    Cell(Transport::Tls, Store::Postgres),
    Cell(Transport::Nats, Store::Postgres),
];

/// How the test calls services.
enum Client<'a> {
    Sockets(&'a Installation),
    Tls(tls::Client<'a>),
    Nats(nats::Client),
}

impl Client<'_> {
    fn call(&mut self, exchange: &Exchange) -> Frames {
        match self {
            Self::Sockets(installation) => call_socket(installation, exchange),
            Self::Tls(client) => client.call(exchange.kind, &exchange.bytes),
            Self::Nats(client) => match client.call(exchange.kind, &exchange.bytes) {
                Answer::Frames(frames) => frames,
                // A frame has no length of its own there: the caller announces one that is too long.
                Answer::Refused(reason) => {
                    assert_eq!(reason, "too long", "{}", exchange.name);
                    vec![NO_EQUAL.into()]
                }
            },
        }
    }
}

impl Cell {
    /// Returns the name and the response of every exchange.
    fn run(self, postgres: &Postgres) -> Vec<(String, Frames)> {
        let Self(transport, store) = self;
        let model = ModelServer::start();
        let installation = Installation::new(&model.url(Wire::OpenAi), "");
        let database = postgres.database();
        self.configure(&installation, &database);
        let network = (transport == Transport::Tls).then(|| Network::add_to(&installation));
        let bus = (transport == Transport::Nats).then(|| add_bus(&installation));
        if store == Store::Postgres {
            let output = installation.run(&["store", "migrate"]);
            assert!(output.status.success(), "{output:?}");
        }
        let _processes = match transport {
            Transport::OneProcess => vec![installation.up()],
            Transport::Unix | Transport::Tls | Transport::Nats => installation.start_all_but(&[]),
        };
        let mut client = match (&network, &bus) {
            (Some(network), _) => Client::Tls(network.client()),
            (None, Some(bus)) => Client::Nats(nats::Client::new(bus)),
            (None, None) => Client::Sockets(&installation),
        };
        let mut transcript = Vec::new();
        for step in steps() {
            match step {
                Step::Write(name, content) => {
                    fs::write(installation.path(name), content).unwrap();
                }
                Step::Remove(name) => fs::remove_file(installation.path(name)).unwrap(),
                Step::Exchange(exchange) => {
                    let frames = client.call(&exchange);
                    self.compare(&exchange, &frames);
                    let frames = frames.into_iter().map(without_directory);
                    transcript.push((exchange.name, frames.collect()));
                }
            }
        }
        // Nothing was stored in the other place.
        let has_files = installation.path("data/mem/channels").exists();
        assert_eq!(has_files, store == Store::Files, "{self:?}");
        transcript
    }

    fn configure(self, installation: &Installation, database: &Database) {
        let path = installation.path("ZINO.toml");
        let text = fs::read_to_string(&path).unwrap();
        // Shorter than the program of the capture that is ended, and longer than any other on a busy machine.
        let mut text = text.replace("exc.timeout = 30", "exc.timeout = 9");
        if self.1 == Store::Postgres {
            text += &format!("store.url = \"{}\"\n", database.url);
        }
        fs::write(path, text).unwrap();
    }

    /// Compares a response with the recorded one.
    fn compare(self, exchange: &Exchange, frames: &Frames) {
        if let Some(recorded) = &exchange.recorded {
            let values = frames.iter().map(|body| serde_json::from_slice(body));
            let values: Vec<Value> = values.collect::<Result<_, _>>().unwrap();
            let recorded = json!(recorded).to_string();
            let recorded = recorded.replace("timed out after 3s", "timed out after 9s");
            assert_eq!(
                json!(values).to_string(),
                recorded,
                "{self:?}: {}",
                exchange.name
            );
        }
    }
}

/// Starts a server and lets all services of an installation use it.
fn add_bus(installation: &Installation) -> Nats {
    let nats = Nats::start();
    let path = installation.path("ZINO.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text + &format!("bus.url = \"{}\"\n", nats.url())).unwrap();
    nats
}

fn call_socket(installation: &Installation, exchange: &Exchange) -> Frames {
    let mut stream = installation.connect(exchange.kind);
    stream.write_all(&exchange.bytes).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = read_frame(&mut stream) {
        frames.push(frame);
    }
    frames
}

/// Masks the random name of the directory where `exc` puts code: `shellcheck` prints it.
fn without_directory(mut frame: Vec<u8>) -> Vec<u8> {
    const NAME: &[u8] = b"/zino-exc-";
    const RANDOM_DIGITS: usize = 16;
    let found = frame.windows(NAME.len()).position(|part| part == NAME);
    if let Some(start) = found {
        let start = start + NAME.len();
        frame[start..start + RANDOM_DIGITS].fill(b'.');
    }
    frame
}

/// Returns the body of the next frame; `None` at the end of the connection.
fn read_frame(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return None,
        Err(error) => panic!("the connection did not end cleanly: {error}"),
    }
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).unwrap();
    Some(body)
}

#[test]
fn transcripts_are_equal() {
    let postgres = &Postgres::start();
    let transcripts = thread::scope(|scope| {
        CELLS
            .map(|cell| scope.spawn(move || cell.run(postgres)))
            .map(|thread| thread.join().unwrap())
    });
    let [first, others @ ..] = &transcripts;
    assert!(first.len() >= 150, "{} exchanges", first.len());
    for kind in ServiceKind::ALL {
        let name = format!("{} ", kind.name());
        assert!(
            first
                .iter()
                .any(|(exchange, _)| exchange.starts_with(&name))
        );
    }
    for (cell, other) in CELLS[1..].iter().zip(others) {
        assert_eq!(first.len(), other.len());
        for ((name, expected), (_, frames)) in first.iter().zip(other) {
            let show = |frames: &Frames| {
                let lines = frames.iter().map(|frame| frame.escape_ascii().to_string());
                lines.collect::<Vec<_>>()
            };
            assert!(
                expected == frames || *frames == [NO_EQUAL.as_bytes()],
                "{cell:?}: {name:.300}:\n{:?}\nexpected:\n{:?}",
                show(frames),
                show(expected)
            );
        }
    }
}
