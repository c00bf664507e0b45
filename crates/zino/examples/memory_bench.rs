//! Measures `mem`: appending to long channels, storing to and searching in many memories.
//!
//! `cargo run --release -p zino --example memory_bench [MEMORIES…]`, by default 1,000, 50,000 and
//! 1,000,000. Words are drawn from a Zipf distribution over 50,000.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people that measures and prints"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zino::config::Config;
use zino::logging::{Level, Log};
use zino::memory::MemoryService;
use zino::peer::Peer;
use zot_wire::zino::memory::Request;
use zot_wire::zino::{Frame, Request as _, Response as _};

const VOCABULARY: usize = 50_000;
const WORDS_PER_MEMORY: usize = 25;
const REQUESTS: usize = 300;

/// Draws words: the one of rank r with a probability of 1/r.
struct Zipf {
    cumulative: Vec<f64>,
    state: u64,
}

impl Zipf {
    fn new() -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=VOCABULARY)
            .map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            })
            .collect();
        Self {
            cumulative,
            state: 42,
        }
    }

    fn random(&mut self) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.state >> 33
    }

    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            let last = self.cumulative[VOCABULARY - 1];
            let at = self.random() as f64 / (1_u64 << 31) as f64 * last;
            let rank = self.cumulative.partition_point(|sum| *sum < at);
            text.push_str(&format!("w{rank} "));
        }
        text
    }
}

fn start(directory: &Path) -> Peer<Request> {
    let mut config = Config::default();
    config.mem.data_dir = directory.to_owned();
    Peer::local(
        Arc::new(MemoryService::new(&config)),
        Log::new("mem", Level::Error),
    )
}

async fn ask(peer: &Peer<Request>, request: Value) -> Duration {
    let frame = Frame::parse(request.to_string().as_bytes()).unwrap();
    let request = Request::read(frame).unwrap();
    let began = Instant::now();
    let response = peer.ask(request).await.unwrap();
    let took = began.elapsed();
    assert_eq!(response.as_failure(), None);
    took
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e3 / times.len() as f64;
    println!(
        "{what:<44} mean {mean:>8.3} ms   p50 {:>8.3} ms   p99 {:>8.3} ms   max {:>8.3} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn resident_mebibytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) / 1024
}

async fn channels(directory: &Path) {
    for length in [10, 10_000, 100_000] {
        let peer = start(directory);
        let channel = format!("channel{length}");
        let message = json!({ "role": "user", "content": "twenty words or so ".repeat(5) });
        let messages = vec![message.clone(); length];
        let request = |kind: &str| json!({ "type": kind, "channel_id": channel });
        let mut append = request("append_history");
        append["messages"] = messages.into();
        ask(&peer, append.clone()).await;
        let peer = start(directory);
        append["messages"] = json!([message, message]);
        let first = ask(&peer, append.clone()).await;
        let mut times = Vec::new();
        for _ in 0..REQUESTS {
            times.push(ask(&peer, append.clone()).await);
        }
        print(&format!("append_history, {length} messages"), times);
        let mut get = request("get_history");
        get["limit"] = 50.into();
        let mut times = Vec::new();
        for _ in 0..REQUESTS {
            times.push(ask(&peer, get.clone()).await);
        }
        print(&format!("get_history of 50, {length} messages"), times);
        println!(
            "  first append of a process: {:.3} ms",
            first.as_secs_f64() * 1e3
        );
    }
}

async fn memories(directory: &Path, count: usize, zipf: &mut Zipf) {
    let file = File::create(directory.join("hard_memories.json")).unwrap();
    let mut file = BufWriter::new(file);
    for number in 0..count {
        let opening = if number == 0 { "[" } else { "," };
        let text = zipf.text(WORDS_PER_MEMORY);
        write!(
            file,
            "{opening}\n  {{\n    \"messages\": [\n      {{\n        \"role\": \"user\",\n        \"content\": \"{text}\"\n      }}\n    ],\n    \"tag\": \"\"\n  }}"
        )
        .unwrap();
    }
    file.write_all(b"\n]").unwrap();
    file.into_inner().unwrap();
    let before = resident_mebibytes();
    let peer = start(directory);
    let first = ask(&peer, json!({ "type": "search_hard", "query": "w5" })).await;
    println!(
        "{count} memories: index made in {:.0} ms, {} MiB resident ({before} before)",
        first.as_secs_f64() * 1e3,
        resident_mebibytes()
    );
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let query = zipf.text(3 + number % 6);
        times.push(ask(&peer, json!({ "type": "search_hard", "query": query })).await);
    }
    print(&format!("search_hard, {count} memories"), times);
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let text = zipf.text(WORDS_PER_MEMORY);
        let messages = json!([{ "role": "user", "content": text }]);
        times.push(ask(&peer, json!({ "type": "store_hard", "messages": messages })).await);
    }
    print(&format!("store_hard, {count} memories"), times);
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let query = zipf.text(3 + number % 6);
        times.push(ask(&peer, json!({ "type": "search_hard", "query": query })).await);
    }
    print(
        &format!("search_hard after stores, {count} memories"),
        times,
    );
    let deleted = ask(&peer, json!({ "type": "delete_hard", "id": count / 2 })).await;
    println!("  delete_hard: {:.1} ms", deleted.as_secs_f64() * 1e3);
}

fn main() {
    let given: Vec<usize> = std::env::args()
        .skip(1)
        .flat_map(|count| count.parse())
        .collect();
    let counts = if given.is_empty() {
        vec![1000, 50_000, 1_000_000]
    } else {
        given
    };
    let directory = std::env::temp_dir().join(format!("zino-memory-bench-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        channels(&directory).await;
        let mut zipf = Zipf::new();
        for count in counts {
            memories(&directory, count, &mut zipf).await;
        }
    });
    fs::remove_dir_all(&directory).unwrap();
}
