//! Unix sockets.

use crate::attempt::{After, Attempt, Category, attempt};

pub(crate) const SOCKETS: Category = Category {
    name: "sockets",
    source: include_str!("../attempts/sockets.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("stream_by_path"),
    attempt("stream_in_readable_directory"),
    attempt("stream_in_workspace"),
    attempt("datagram_by_path"),
    attempt("abstract_stream"),
    attempt("abstract_datagram"),
    attempt("sequenced_packets"),
    attempt("pair_to_path"),
    attempt("pair_to_abstract"),
    attempt("pair_connected_elsewhere"),
    attempt("raw_pair_to_path"),
    attempt("stream_pair_connected_elsewhere").unproved("the kernel refuses it"),
    attempt("pair_of_other_family").unproved("only kernels with TIPC have it, as a driver"),
    attempt("descriptor_through_pair"),
    attempt("serve_in_workspace").then(After::Connects),
    attempt("services_of_the_machine").unproved("it depends on the machine"),
    attempt("agent_of_keys"),
];
