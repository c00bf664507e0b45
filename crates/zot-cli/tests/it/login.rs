//! `zot login`, `zot logout`, `zot auth status`, and how logins are used.

mod keys;
mod oauth;

use std::fs;

use serde_json::Value;
use testkit::{Workdir, Zot, ZotCommand, poll_until};

use crate::support::binary;

/// A home with this `providers.json`.
fn place(providers: &Value) -> Workdir {
    let workdir = Workdir::with_files("work");
    fs::create_dir_all(workdir.zot_home()).unwrap();
    let path = workdir.zot_home().join("providers.json");
    fs::write(path, providers.to_string()).unwrap();
    workdir
}

fn zot(workdir: &Workdir, arguments: &[&str]) -> ZotCommand {
    ZotCommand::new(binary(), workdir).arguments(arguments)
}

fn auth_file(workdir: &Workdir) -> Value {
    let text = fs::read_to_string(workdir.zot_home().join("auth.json"));
    serde_json::from_str(&text.unwrap_or_else(|_| "{}".to_owned())).unwrap()
}

/// Returns the address that `zot` prints after `label`.
fn printed_address(zot: &Zot, label: &str) -> String {
    let found = || {
        let lines = zot.lines();
        let mut lines = lines.iter();
        lines.find_map(|line| line.strip_prefix(label).map(str::to_owned))
    };
    poll_until("an address is printed", || found().is_some());
    found().unwrap()
}
