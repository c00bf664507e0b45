//! `testkit`'s extension that misbehaves, as a program that this crate's tests can start: cargo
//! builds examples, but not the programs of other crates, before it runs tests.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let behaviour = arguments.next().unwrap_or_default();
    testkit::hostile_extension::run(&behaviour);
}
