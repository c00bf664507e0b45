//! Opens a page in the user's browser.

use std::env;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Opens `url` in the user's browser, if there is a screen. Reads `$DISPLAY`, `$WAYLAND_DISPLAY` and
/// `$SSH_CONNECTION`.
///
/// Show the address as well: nothing reports that no browser opened. The returned process is not
/// killed when it is dropped, because some openers are the browser itself.
pub fn open_in_browser(url: &str) -> Option<Child> {
    if !has_screen() {
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

/// A browser opened over a remote connection would open on the wrong machine.
fn has_screen() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("SSH_CONNECTION") {
        return false;
    }
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
