//! `cargo xtask`: occasional tasks of this repository. Permanent checks are tests.

mod attack;
mod bench;
mod cluster;
mod cluster_proof;
mod fuzz;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};

const USAGE: &str = "usage: cargo xtask COMMAND
  schema               write docs/schema from the types
  limits               write docs/limits.md from the constants
  bench rpc [--quick]  measure `zot rpc` and print the table of BENCHMARKS.md
  bench ext [--quick]  measure what extensions cost, likewise
  bench mcp [--quick]  measure what MCP servers cost, likewise
  bench sandbox [--quick]  measure what the sandbox costs, likewise
  bench sdk [--quick]  measure the runtime inside other programs, likewise
  bench sessions [--quick]  measure sessions, likewise
  bench zino [--quick] measure the services of zino, likewise
  bench cluster [--quick]  measure nodes of zino over TLS with PostgreSQL, likewise
  bench terminal [--quick]  measure the chat in a terminal, likewise
  attack [DIRECTORY [NAME]]  attack the programs in DIRECTORY (target/release); needs python3
  cluster-proof [--short] [--minutes N] [--program ZINO] [NAME...]
                       kill, cut and stop nodes of zino and their database, and check that nothing is lost;
                       needs root, PostgreSQL and ip
  fuzz [SECONDS]       run every fuzz target that long (60); needs nightly and cargo-fuzz
";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["schema"] => {
            for file in &xtask::schema::FILES {
                let path = file.write(&xtask::repository::root())?;
                writeln!(io::stdout(), "wrote {}", path.display())?;
            }
            Ok(())
        }
        ["limits"] => {
            let root = xtask::repository::root();
            let text = xtask::limits::document(&root)?;
            std::fs::write(root.join(xtask::limits::DOCUMENT), text)?;
            writeln!(io::stdout(), "wrote {}", xtask::limits::DOCUMENT)?;
            Ok(())
        }
        ["bench", "rpc"] => bench::rpc(bench::Effort::Full),
        ["bench", "rpc", "--quick"] => bench::rpc(bench::Effort::Quick),
        ["bench", "ext"] => bench::extensions(bench::Effort::Full),
        ["bench", "ext", "--quick"] => bench::extensions(bench::Effort::Quick),
        ["bench", "mcp"] => bench::mcp(bench::Effort::Full),
        ["bench", "mcp", "--quick"] => bench::mcp(bench::Effort::Quick),
        ["bench", "sandbox"] => bench::sandbox(bench::Effort::Full),
        ["bench", "sandbox", "--quick"] => bench::sandbox(bench::Effort::Quick),
        ["bench", "sdk"] => bench::embedding(bench::Effort::Full),
        ["bench", "sdk", "--quick"] => bench::embedding(bench::Effort::Quick),
        ["bench", "sessions"] => bench::sessions(bench::Effort::Full),
        ["bench", "sessions", "--quick"] => bench::sessions(bench::Effort::Quick),
        ["bench", "zino"] => bench::zino(bench::Effort::Full),
        ["bench", "zino", "--quick"] => bench::zino(bench::Effort::Quick),
        ["bench", "cluster"] => bench::cluster(bench::Effort::Full),
        ["bench", "cluster", "--quick"] => bench::cluster(bench::Effort::Quick),
        ["bench", "terminal"] => bench::terminal(bench::Effort::Full),
        ["bench", "terminal", "--quick"] => bench::terminal(bench::Effort::Quick),
        ["attack"] => attack::run(Path::new("target/release"), ""),
        ["attack", directory] => attack::run(Path::new(directory), ""),
        ["attack", directory, name] => attack::run(Path::new(directory), name),
        ["cluster-proof", arguments @ ..] => cluster_proof::run(arguments),
        ["fuzz"] => fuzz::run(60),
        ["fuzz", seconds] => fuzz::run(seconds.parse().context("SECONDS must be a number")?),
        [] | ["help" | "--help" | "-h"] => Ok(write!(io::stdout(), "{USAGE}")?),
        _ => bail!("unknown arguments {arguments:?}\n{USAGE}"),
    }
}
