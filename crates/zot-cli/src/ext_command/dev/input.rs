//! The lines of standard input.

use std::io;
use std::thread;

use tokio::sync::mpsc;

/// Lines typed ahead; more have to wait.
const LINES_CAPACITY: usize = 16;

/// The lines of standard input. A thread reads them, which ends with the process.
pub(super) fn lines() -> io::Result<mpsc::Receiver<String>> {
    let (sender, lines) = mpsc::channel(LINES_CAPACITY);
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        })?;
    Ok(lines)
}
