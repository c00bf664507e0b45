//! A command that the user runs with `!`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::app::Input;

const LIMIT: Duration = Duration::from_secs(120);
const MAX_OUTPUT_BYTES: usize = 50 * 1024;

/// Runs `command` with both streams together.
pub(super) async fn run(cwd: &Path, command: String) -> Input {
    let output = Command::new("bash")
        .arg("-c")
        .arg(format!("{{ {command}\n}} 2>&1"))
        .current_dir(cwd)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match timeout(LIMIT, output).await {
        Ok(Ok(output)) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            if text.len() > MAX_OUTPUT_BYTES {
                let start = text.ceil_char_boundary(text.len() - MAX_OUTPUT_BYTES);
                text = format!("[the beginning is left out]\n{}", &text[start..]);
            }
            if !output.status.success() {
                text.push_str(&format!("\n[{}]", output.status));
            }
            Input::Shell {
                command,
                output: text,
            }
        }
        Ok(Err(error)) => failed(format!("cannot run bash: {error}")),
        Err(_) => failed(format!("it took longer than {} seconds", LIMIT.as_secs())),
    }
}

fn failed(text: String) -> Input {
    Input::Note {
        text,
        is_error: true,
    }
}
