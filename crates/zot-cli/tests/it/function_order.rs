//! The function order of the release program names functions that exist.
//!
//! `function-order.ld` is written by `scripts/function-order` and committed. A function that was
//! renamed or removed since only costs idle memory, so nobody would notice.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};

use crate::support::binary;

/// Some functions are missing in a debug build, and small changes need no new order.
const MIN_KNOWN_PERCENT: usize = 90;

const ORDER: &str = include_str!("../../function-order.ld");

#[test]
fn most_names_in_the_function_order_exist() {
    let names: Vec<&str> = ORDER.lines().filter_map(name_in_order).collect();
    assert!(names.len() > 1_000, "{} names", names.len());
    // The names of functions are strings that end with a zero byte.
    let program = BufReader::new(File::open(binary()).unwrap());
    let existing: HashSet<String> = program
        .split(0)
        .map(Result::unwrap)
        .filter(|string| string.starts_with(b"_ZN") || string.starts_with(b"_R"))
        .filter_map(|string| String::from_utf8(string).ok())
        .map(|symbol| without_hashes(&symbol))
        .collect();
    let known = names.iter().filter(|name| existing.contains(**name));
    let percent = known.count() * 100 / names.len();
    assert!(
        percent >= MIN_KNOWN_PERCENT,
        "{percent} % of the functions in crates/zot-cli/function-order.ld exist: run \
         scripts/function-order and commit what it writes"
    );
}

/// `    *(.text._ZN…17h*)` names the function `_ZN…17h*`.
fn name_in_order(line: &str) -> Option<&str> {
    let section = line.trim().strip_prefix("*(.text.")?.strip_suffix(')')?;
    Some(section.strip_prefix("unlikely.").unwrap_or(section))
}

/// Replaces compiler-specific parts with `*`, as `scripts/function-order` does.
fn without_hashes(symbol: &str) -> String {
    let is_hash = |at: usize| {
        let hash = symbol.as_bytes().get(at + 3..at + 20).unwrap_or_default();
        let (digits, end) = hash.split_at(hash.len().min(16));
        end == b"E" && digits.iter().all(u8::is_ascii_hexdigit)
    };
    let mut candidates = symbol.match_indices("17h").map(|(at, _)| at);
    if let Some(at) = candidates.find(|at| is_hash(*at)) {
        return format!("{}17h*", &symbol[..at]);
    }
    let mut name = String::new();
    let mut parts = symbol.split("Cs");
    name.push_str(parts.next().unwrap_or_default());
    for part in parts {
        match part.split_once('_') {
            Some((hash, rest)) if hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                name.push_str("Cs*_");
                name.push_str(rest);
            }
            _ => {
                name.push_str("Cs");
                name.push_str(part);
            }
        }
    }
    name
}
