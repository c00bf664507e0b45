//! Measures the index of the hard memories against a plain inverted index.
//!
//! `cargo run --profile dist -p zino --example search_bench [MEMORIES…]`, by default 50,000 and 1,000,000.
//! Both must find the same memories with the same scores. `cargo xtask bench zino` measures `mem` over
//! its socket.

/// The sources of the service and of the index it is measured against.
#[path = "../../src/memory"]
mod memory {
    #[expect(dead_code, reason = "not all of it is measured")]
    pub(crate) mod index;
    #[path = "../../examples/search_bench/measure.rs"]
    mod measure;
    #[path = "../../examples/search_bench/plain.rs"]
    mod plain;
    pub(crate) mod tokens;

    pub(crate) use measure::measure;
}

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .flat_map(|count| count.parse())
        .collect();
    let counts = match arguments.is_empty() {
        true => vec![50_000, 1_000_000],
        false => arguments,
    };
    for count in counts {
        memory::measure(count);
    }
}
