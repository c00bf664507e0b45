# Shortcuts; `just` without arguments lists them. Everything works without just as well.

default:
    @just --list

# What compiles and lints, without running anything
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings

# All that must hold before a change is merged
test:
    ./scripts/test

# The figures of BENCHMARKS.md, on this machine
bench:
    cargo xtask bench rpc
    cargo xtask bench ext

# The program, as small and fast as it gets: target/release/zot
release:
    cargo build --release --locked --package zot-cli
