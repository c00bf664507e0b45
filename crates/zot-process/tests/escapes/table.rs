//! Every attempt, by category.

mod communication;
mod devices;
mod git;
mod inherited;
mod kernel;
mod level;
mod limits;
mod links;
mod mounts;
mod namespaces;
mod network;
mod paths;
mod privileges;
mod proc;
mod processes;
mod programs;
mod protected;
mod proxy;
mod races;
mod readable;
mod scratch;
mod sockets;
mod supervision;
mod terminal;
mod uring;

use crate::attempt::Category;

/// All of them, in the order of the tests.
pub(crate) const CATEGORIES: &[Category] = &[
    paths::PATHS,
    readable::READABLE,
    links::LINKS,
    races::RACES,
    protected::PROTECTED,
    git::GIT,
    scratch::SCRATCH,
    level::LEVEL,
    proc::PROC,
    processes::PROCESSES,
    supervision::SUPERVISION,
    inherited::INHERITED,
    terminal::TERMINAL,
    limits::LIMITS,
    programs::PROGRAMS,
    communication::COMMUNICATION,
    network::NETWORK,
    proxy::PROXY,
    sockets::SOCKETS,
    uring::URING,
    privileges::PRIVILEGES,
    devices::DEVICES,
    mounts::MOUNTS,
    namespaces::NAMESPACES,
    kernel::KERNEL,
];
