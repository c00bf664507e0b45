//! Opens a page in the user's browser.

use std::env;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Opens `url` in the user's browser, if there is a display. Reads `$DISPLAY`, `$WAYLAND_DISPLAY` and
/// `$SSH_CONNECTION`.
///
/// Show the address as well: a browser that does not open is not reported. The returned process is not
/// killed when dropped, because it may be the browser itself.
pub fn open_in_browser(url: &str) -> Option<Child> {
    if !has_display() {
        return None;
    }
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let opener = zot_process::helper(opener, Path::new(".")).ok()?;
    Command::from(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Returns whether a browser would be visible; not so on the remote end of a connection.
fn has_display() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("SSH_CONNECTION") {
        return false;
    }
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
