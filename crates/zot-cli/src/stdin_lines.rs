//! The lines of standard input.

use std::io;
use std::thread;

use tokio::sync::mpsc;

/// How many typed lines may wait; then reading pauses.
const LINES_CAPACITY: usize = 16;

/// Returns the lines of standard input, read by a thread that ends with the process.
pub(crate) fn lines() -> io::Result<mpsc::Receiver<String>> {
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
