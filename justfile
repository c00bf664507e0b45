# Shortcuts; `just` alone lists them. Each is one or two commands, so everything works without just as well.

set positional-arguments

default:
    @just --list

# Run zot without a key: `just run` opens the chat, `just run -p "list the files"` answers once
run *ARGUMENTS:
    cargo run --package zot-cli -- --provider offline "$@"

# Format, lint, and the checks of the repository: the quickest answer to "is this in order?"
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo test --package xtask --locked

# Everything that must pass before a change is merged
test:
    ./scripts/test

# The tests of one crate, or some of them: `just test-crate zot-agent`, `just test-crate zot-cli documents`
test-crate CRATE *FILTER:
    cargo test --package {{CRATE}} --locked {{FILTER}}

# One group of BENCHMARKS.md, quickly: rpc, ext, sdk, sessions, zino, cluster, terminal or sandbox
bench GROUP="rpc":
    cargo xtask bench {{GROUP}} --quick

# One line of a group: `just bench-line rpc "20000 deltas"`
bench-line GROUP LINE:
    cargo xtask bench {{GROUP}} --quick | grep --fixed-strings --ignore-case {{quote(LINE)}}

# Check the documents: links, frames, settings, limits and examples
docs:
    cargo test --package xtask --locked
    cargo test --package zot-cli --locked --test it documents
    scripts/doc-frames --check
    scripts/doc-zino --check

# The documentation of the crates, in a browser
api:
    cargo doc --workspace --no-deps --open

# Make the images of the documents again; needs tmux, node and chromium
screenshots:
    cargo build --locked --package zot-cli
    ZOT_BIN=target/debug/zot scripts/terminal-screenshot
    scripts/screenshots

# What is generated from the source: schemas and limits
generate:
    cargo xtask schema
    cargo xtask limits

# Build zot as the README does: target/release/zot
release:
    cargo build --release --locked --package zot-cli

# Build zot as packages and benches have it, smaller and faster: target/dist/zot
dist:
    cargo build --profile dist --locked --package zot-cli
