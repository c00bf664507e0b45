//! zot itself as a program, for what it can do outside a conversation.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::app::{Input, SESSION};

/// Runs zot with `words` and tells what it printed. [`SESSION`] stands for `session`.
pub(super) async fn ask(cwd: &Path, words: Vec<String>, session: Option<PathBuf>) -> Input {
    let words = words
        .into_iter()
        .map(|word| match (&session, word.as_str()) {
            (Some(path), SESSION) => path.clone().into_os_string(),
            _ => word.into(),
        });
    let output = async {
        Command::new(std::env::current_exe()?)
            .args(words)
            .current_dir(cwd)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
    };
    match output.await {
        Ok(output) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stderr));
            let text = match text.trim_end() {
                "" => "done".to_owned(),
                text => text.to_owned(),
            };
            Input::Note {
                text,
                is_error: !output.status.success(),
            }
        }
        Err(error) => Input::failure(format!("zot could not be started: {error}")),
    }
}

/// Runs zot with `words` in the terminal.
pub(super) async fn run(words: &[String]) -> io::Result<()> {
    let status = Command::new(std::env::current_exe()?)
        .args(words)
        .status()
        .await?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("zot {} failed", words.join(" ")))),
    }
}
