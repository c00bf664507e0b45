//! Opening a page in the user's browser, where there is one.

use std::env;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Opens `url`; the address has been printed, so that nothing is lost when this fails.
///
/// The opener is left alone when it outlives us: some are the browser itself.
pub(super) fn open(url: &str, unwanted: bool) -> Option<Child> {
    if unwanted || !has_screen() {
        return None;
    }
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// A browser over a remote connection would open on the wrong machine.
fn has_screen() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("SSH_CONNECTION") {
        return false;
    }
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
