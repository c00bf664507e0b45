//! zot itself as a program, for what it can do outside a conversation.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;
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
    told(output(cwd, words.collect()).await, str::to_owned)
}

/// Makes a session of `file`.
pub(super) async fn import(cwd: &Path, file: &Path) -> Input {
    let words = ["sessions", "import", "--json"].map(OsString::from);
    let words = words.into_iter().chain([file.into()]).collect();
    let made = output(cwd, words).await;
    let printed = made.as_ref().ok().filter(|made| made.status.success());
    let printed: Option<Value> = printed.and_then(|made| serde_json::from_slice(&made.stdout).ok());
    match printed.as_ref().and_then(|made| made["path"].as_str()) {
        Some(path) => Input::Imported(path.to_owned()),
        None => told(made, str::to_owned),
    }
}

async fn output(cwd: &Path, words: Vec<OsString>) -> io::Result<Output> {
    Command::new(std::env::current_exe()?)
        .args(words)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
}

/// What a run has to say. Who says it is known.
fn told(output: io::Result<Output>, on_success: impl Fn(&str) -> String) -> Input {
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            return Input::failure(format!("zot could not be started: {error}"));
        }
    };
    let is_error = !output.status.success();
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut text = match is_error {
        true => printed.into_owned(),
        false => on_success(&printed),
    };
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        text.push_str(line.strip_prefix("zot: ").unwrap_or(line));
        text.push('\n');
    }
    let text = match text.trim_end() {
        "" => "done".to_owned(),
        text => text.to_owned(),
    };
    Input::Note { text, is_error }
}

/// Runs zot in the terminal, to change credentials.
pub(super) async fn log(words: &[String]) -> Input {
    let ended = match std::env::current_exe() {
        Ok(program) => Command::new(program).args(words).status().await,
        Err(error) => Err(error),
    };
    let what = format!("zot {}", words.join(" "));
    let (text, is_error) = match ended {
        Ok(status) if status.success() => return Input::LoggedIn,
        Ok(status) if is_interrupted(status) => (format!("{what} was given up"), false),
        Ok(_) => (format!("{what} failed"), true),
        Err(error) => (format!("{what} could not be started: {error}"), true),
    };
    Input::Note { text, is_error }
}

fn is_interrupted(status: ExitStatus) -> bool {
    let signal = Signal::INT.as_raw();
    status.signal() == Some(signal) || status.code() == Some(128 + signal)
}
