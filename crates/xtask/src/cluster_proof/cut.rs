//! The cable of a node is cut while it works, and connected again later.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::nats::NatsOptions;
use testkit::network::{Host, Network};

use super::report::{Report, seconds};
use super::{Scale, Stage};
use crate::bench::Samples;
use crate::cluster::{
    Ending, Entrance, Ledger, Link, Load, Node, Place, Sample, Site, Turn, begin, next_frame,
    recommended_bus, turn,
};

/// A caller in the middle of a stream notices within this time.
const NOTICED: Duration = Duration::from_secs(3);

/// New calls reach the survivor within this time.
const NEW_CALL: Duration = Duration::from_millis(1_500);

/// The node works again this long after its cable was connected.
const RECOVERED: Duration = Duration::from_secs(10);

/// What is said of a request that nobody accepted.
const NOT_ACCEPTED: &str = "no instance accepted the request";

const DATABASE_PORT: u16 = 5432;

/// How many long turns are in flight when the cable is cut: enough that a node chosen at random has some.
const STREAMS: usize = 16;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let network = Network::new(5);
    let mut site = Site::new(&stage.program)?;
    if stage.link == Link::Nats {
        site = site.with_bus(NatsOptions {
            host: Some(network.host(4).clone()),
            ..recommended_bus()
        })?;
    }
    let database = network.host(3);
    relay(database, site.postgres.path())?;
    let url = site.tcp_url(database.address(), DATABASE_PORT);
    let places = [0, 1, 2].map(|number| Place::Host(network.host(number).clone()));
    let (mut front, mut back) = site.front_and_back(stage.link, &places, &url)?;
    front.start()?;
    for node in &mut back {
        node.start()?;
    }
    let ledger = Ledger::default();
    let stop = AtomicBool::new(false);
    let cut_time = stage.pick(Duration::from_secs(6), Duration::from_secs(30));
    let cuts = stage.pick(1, 2);
    for (number, node) in back.iter().enumerate().take(cuts) {
        let host = network.host(number + 1);
        stop.store(false, Ordering::Relaxed);
        let load = Load {
            name: format!("cut-{number}"),
            directive: "say:1 %NAME%",
            channel_prefix: "load".to_owned(),
            entrances: vec![Entrance::Socket(front.socket("daemon"))],
            clients: 4,
            channels: 40,
            turns: None,
        };
        let (samples, cut) = std::thread::scope(|scope| {
            let load = scope.spawn(|| load.run(&ledger, &stop));
            let result = cut_and_heal(number, &front, node, host, cut_time, &ledger, report);
            stop.store(true, Ordering::Relaxed);
            (load.join().unwrap_or_default(), result)
        });
        judge_load(stage, &samples, cut?, cut_time, report);
    }
    if stage.scale == Scale::Long {
        cut_the_database(&front, database, &ledger, report);
    }
    report.alive(&mut back);
    report.audit(&ledger, &site)?;
    Ok(())
}

/// Cuts a node off while it works on some of several long turns. Returns when.
fn cut_and_heal(
    number: usize,
    front: &Node,
    node: &Node,
    host: &Host,
    cut_time: Duration,
    ledger: &Ledger,
    report: &mut Report,
) -> anyhow::Result<Instant> {
    let mut streams = Vec::new();
    for stream in 0..STREAMS {
        let turn = Turn {
            channel: format!("cut-{stream}"),
            message: format!("think:{number}-{stream}:slow:160:50"),
        };
        let request =
            json!({ "message": turn.message, "channel_id": turn.channel, "stream": true });
        streams.push((turn, begin(&front.socket("daemon"), &request)?));
    }
    for (_, stream) in &mut streams {
        let first = next_frame(stream)?.context("a first frame")?;
        ensure!(first["type"] == "chunk", "unexpected {first}");
    }
    let cut = Instant::now();
    host.cut();
    let mut noticed = Samples::default();
    for (turn, ending, took) in super::pause::endings(streams, cut) {
        if ending != Ending::Saved {
            noticed.push(took);
        }
        ledger.note(turn, ending);
    }
    report.must(
        &format!(
            "of {STREAMS} streams, {} were broken off by the cut of {}",
            noticed.len(),
            node.name
        ),
        (1..STREAMS).contains(&noticed.len()),
    );
    report.time(
        "callers noticed the cut, last",
        noticed.percentile(100),
        NOTICED,
    );
    std::thread::sleep(cut_time.saturating_sub(cut.elapsed()));
    node.model.reset();
    host.heal();
    let healed = Instant::now();
    while node.model.requests().is_empty() && healed.elapsed() < 3 * RECOVERED {
        std::thread::sleep(Duration::from_millis(10));
    }
    report.time("the node works again after", healed.elapsed(), RECOVERED);
    Ok(cut)
}

/// Judges the short turns that clients sent while the cable was cut.
fn judge_load(
    stage: &Stage,
    samples: &[Sample],
    cut: Instant,
    cut_time: Duration,
    report: &mut Report,
) {
    let during = samples.iter().filter(|sample| {
        let offset = sample.begun.saturating_duration_since(cut);
        sample.begun > cut && offset < cut_time
    });
    let times: Samples = during.clone().map(|sample| sample.took).collect();
    report.figure("turns begun while the cable was cut", times.len());
    report.figure("their median", seconds(times.median()));
    report.time("their p99", times.percentile(99), NEW_CALL);
    report.figure("the longest", seconds(times.percentile(100)));
    let refused: Vec<&Sample> = during
        .filter(|sample| sample.ending != Ending::Saved)
        .collect();
    report.figure(
        "of them broken off, since the node may have begun to work on them",
        format_args!(
            "{} {:?}",
            refused.len(),
            refused.first().map(|sample| &sample.ending)
        ),
    );
    // Nobody had begun to work on these: they belong to the survivor.
    let unasked = refused.iter().filter(|sample| {
        matches!(&sample.ending, Ending::Failed { message, .. } if message.contains(NOT_ACCEPTED))
    });
    report.must(
        &format!("turns that no node accepted: {}", unasked.clone().count()),
        unasked.count() <= stage.tolerated(times.len()),
    );
    let late = refused
        .iter()
        .filter(|sample| sample.begun > cut + NEW_CALL);
    report.must(
        &format!(
            "turns begun {} after the cut or later that failed: {}",
            seconds(NEW_CALL),
            late.clone().count()
        ),
        late.count() <= stage.tolerated(times.len()),
    );
}

/// Cuts the database off: turns are refused by name, and work again without anybody's help.
fn cut_the_database(front: &Node, host: &Host, ledger: &Ledger, report: &mut Report) {
    let send = |message: &str| {
        let next = Turn {
            channel: "database".to_owned(),
            message: format!("say:1 {message}"),
        };
        let start = Instant::now();
        let ending = turn(&front.socket("daemon"), &next);
        ledger.note(next, ending.clone());
        (ending, start.elapsed())
    };
    host.cut();
    let (ending, took) = send("without a database");
    let code = match &ending {
        Ending::Failed { code, .. } => code.as_deref(),
        _ => None,
    };
    report.must(
        &format!("without the database: {ending:?}"),
        code == Some("store_unavailable"),
    );
    report.figure("refused after", seconds(took));
    host.heal();
    let healed = Instant::now();
    let mut attempts = 0;
    while send(&format!("attempt {attempts}")).0 != Ending::Saved
        && healed.elapsed() < 3 * RECOVERED
    {
        attempts += 1;
    }
    report.time("turns work again after", healed.elapsed(), RECOVERED);
}

/// Makes the database reachable on a host, where its cable can be cut.
fn relay(host: &Host, directory: &Path) -> anyhow::Result<()> {
    let address = (host.address(), DATABASE_PORT);
    let listener = host.run(|| TcpListener::bind(address))?;
    let socket = directory.join(".s.PGSQL.5432");
    // It serves until the program ends.
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let socket = socket.clone();
            std::thread::spawn(move || forward(&client, &socket));
        }
    });
    Ok(())
}

/// Copies in both directions until one side closes.
fn forward(client: &TcpStream, socket: &PathBuf) -> io::Result<()> {
    let server = UnixStream::connect(socket)?;
    client.set_nodelay(true)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = io::copy(&mut &*client, &mut &server);
            let _ = server.shutdown(std::net::Shutdown::Both);
        });
        let _ = io::copy(&mut &server, &mut &*client);
        let _ = client.shutdown(std::net::Shutdown::Both);
    });
    Ok(())
}
