//! Both indexes on the same memories and queries.

#![expect(
    clippy::print_stdout,
    reason = "a program for people that measures and prints"
)]

use std::fs;
use std::time::{Duration, Instant};

use super::index::{Index, Wanted};
use super::plain::PlainIndex;

const VOCABULARY: f64 = 50_000.0;
const WORDS_PER_MEMORY: usize = 25;
const QUERIES: usize = 200;
const RESULTS: usize = 3;

/// Measures both indexes over `count` memories.
pub(crate) fn measure(count: usize) {
    println!("{count} memories of {WORDS_PER_MEMORY} words, {QUERIES} queries of 3 to 8 words");
    let texts = {
        let mut corpus = Corpus(1);
        move || corpus.text(WORDS_PER_MEMORY)
    };
    let (plain, plain_build, plain_bytes) =
        build(count, texts.clone(), PlainIndex::new(), |index, text| {
            index.add(text)
        });
    let (mut bounded, mut bounded_build, bounded_bytes) =
        build(count, texts, Index::filling(), |index, text| {
            index.add(&[text]);
        });
    let began = Instant::now();
    bounded.settle();
    bounded_build += began.elapsed();
    let mut queries = Corpus(2);
    let (mut plain_times, mut bounded_times) = (Vec::new(), Vec::new());
    for number in 0..QUERIES {
        let query = queries.text(3 + number % 6);
        let began = Instant::now();
        let expected = plain.search(&query, Wanted::Best(RESULTS));
        plain_times.push(began.elapsed());
        let began = Instant::now();
        let found = bounded.search(&query, Wanted::Best(RESULTS));
        bounded_times.push(began.elapsed());
        let found: Vec<(u32, f64)> = found.iter().map(|hit| (hit.number, hit.score)).collect();
        assert_eq!(found, expected, "{query}");
    }
    print(
        "plain inverted index",
        plain_times,
        plain_build,
        plain_bytes,
    );
    print(
        "with bounded errors",
        bounded_times,
        bounded_build,
        bounded_bytes,
    );
    let mut stores = Vec::new();
    let mut corpus = Corpus(3);
    for _ in 0..QUERIES {
        let text = corpus.text(WORDS_PER_MEMORY);
        let began = Instant::now();
        bounded.add(&[&text]);
        stores.push(began.elapsed());
    }
    println!(
        "  one more memory, with bounded errors: p50 {:.3} ms",
        median(&mut stores)
    );
}

/// Fills an index. Returns the time without that for making the texts, and the memory it added.
fn build<I>(
    count: usize,
    mut texts: impl FnMut() -> String,
    mut index: I,
    mut add: impl FnMut(&mut I, &str),
) -> (I, Duration, u64) {
    let before = resident_bytes();
    let mut time = Duration::ZERO;
    for _ in 0..count {
        let text = texts();
        let began = Instant::now();
        add(&mut index, &text);
        time += began.elapsed();
    }
    (index, time, resident_bytes().saturating_sub(before))
}

fn print(name: &str, mut searches: Vec<Duration>, build: Duration, bytes: u64) {
    let p50 = median(&mut searches);
    let p99 = searches[searches.len() * 99 / 100].as_secs_f64() * 1e3;
    println!(
        "  {name:<22} search p50 {p50:>9.3} ms  p99 {p99:>9.3} ms   build {:>7.0} ms   {:>5} MiB",
        build.as_secs_f64() * 1e3,
        bytes >> 20
    );
}

/// Returns the median in milliseconds. Sorts `times`.
fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// Texts in which the word of rank r is about 1/r as frequent as the first.
#[derive(Clone)]
struct Corpus(u64);

impl Corpus {
    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| format!("w{}", self.rank())).collect();
        words.join(" ")
    }

    fn rank(&mut self) -> usize {
        // xorshift64*, whose upper bits are of good quality.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        VOCABULARY.powf(bits as f64 / (1_u64 << 53) as f64) as usize
    }
}
