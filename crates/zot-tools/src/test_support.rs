//! Support for the tests of several tools.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    BoxFuture, NobodyAnswers, Progress, Questions, Tool, ToolCallId, ToolInvocation, ToolOutput,
};

use zot_process::sandbox::Policy;

use crate::{ToolSandbox, ToolsConfig, builtin_tools};

/// A directory with the files of the recordings, and the tools working in it.
pub(crate) struct Workspace {
    directory: std::path::PathBuf,
    /// Removed with this.
    _made: Option<TempDir>,
    pub(crate) output: TempDir,
    pub(crate) sandbox: Arc<ToolSandbox>,
    tools: Vec<Arc<dyn Tool>>,
}

impl Workspace {
    /// The same files as `setup_cwd` of the conformance kit makes.
    pub(crate) fn recorded() -> Self {
        Self::recorded_with(|sandbox| sandbox)
    }

    /// As [`recorded`](Self::recorded), with a changed sandbox.
    pub(crate) fn recorded_with(change: impl FnOnce(ToolSandbox) -> ToolSandbox) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let long: String = (0..3000).map(|line| format!("line {line}\n")).collect();
        for (name, content) in [
            ("a.txt", &b"one\ntwo\nthree\nfour\n"[..]),
            ("dup.txt", b"x = 1\nx = 1\nend\n"),
            ("crlf.txt", b"\xef\xbb\xbfline1\r\nline2\r\nline3\r\n"),
            ("bin.dat", b"ab\0cd"),
            ("pic.png", b"\x89PNG\r\n\x1a\nrest of the image"),
            ("long.txt", long.as_bytes()),
            ("nonl.txt", b"no newline at end"),
        ] {
            std::fs::write(root.join(name), content).unwrap();
        }
        std::fs::create_dir(root.join("sub")).unwrap();
        let sandbox = change(ToolSandbox::new(&root, None));
        Self::around(directory, None, sandbox)
    }

    /// Returns a workspace in a directory of somebody else.
    pub(crate) fn in_directory(directory: &Path, sandbox: ToolSandbox) -> Self {
        Self::made(directory, None, None, sandbox)
    }

    /// Returns a workspace in `directory`.
    pub(crate) fn around(
        directory: TempDir,
        home: Option<std::path::PathBuf>,
        sandbox: ToolSandbox,
    ) -> Self {
        let path = directory.path().canonicalize().unwrap();
        Self::made(&path, Some(directory), home, sandbox)
    }

    fn made(
        directory: &Path,
        made: Option<TempDir>,
        home: Option<std::path::PathBuf>,
        sandbox: ToolSandbox,
    ) -> Self {
        let output = tempfile::tempdir().unwrap();
        let sandbox = Arc::new(sandbox);
        let tools = builtin_tools(ToolsConfig {
            cwd: directory.to_owned(),
            output_dir: output.path().join("outputs"),
            checkpoint: None,
            home,
            sandbox: Arc::clone(&sandbox),
        });
        Self {
            directory: directory.to_owned(),
            _made: made,
            output,
            sandbox,
            tools,
        }
    }

    pub(crate) fn apply(&self, policy: Policy) {
        self.sandbox.set_policy(policy).unwrap();
    }

    /// Returns whether commands see directories of the sandbox in place of `/tmp` and the home.
    pub(crate) fn has_view(&self) -> bool {
        let (real, shown) = self.sandbox.sandbox().unwrap().temporary();
        real != shown
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.call_with(
            name,
            arguments,
            &Recorder::default(),
            &CancellationToken::new(),
        )
        .await
    }

    pub(crate) async fn call_with(
        &self,
        name: &str,
        arguments: Value,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        self.call_asking(name, arguments, progress, &NobodyAnswers, cancel)
            .await
    }

    pub(crate) async fn call_asking(
        &self,
        name: &str,
        arguments: Value,
        progress: &dyn Progress,
        questions: &dyn Questions,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let tool = self
            .tools
            .iter()
            .find(|tool| tool.definition().name == name)
            .unwrap();
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        tool.run(ToolInvocation {
            id: &ToolCallId::from("call_1"),
            arguments: &arguments,
            progress,
            questions,
            cancel,
        })
        .await
    }

    /// Calls a tool and compares its text, in which `<cwd>` stands for the directory.
    pub(crate) async fn check(&self, name: &str, arguments: Value, expected: Expected<'_>) {
        let output = self.call(name, arguments.clone()).await;
        let cwd = self.path("");
        let cwd = cwd.to_str().unwrap().trim_end_matches('/');
        let actual = output.joined_text().replace(cwd, "<cwd>");
        let (is_error, text) = match expected {
            Expected::Text(text) => (false, text),
            Expected::Error(text) => (true, text),
        };
        assert_eq!(actual, text, "{name} {arguments}");
        assert_eq!(output.is_error, is_error, "{name} {arguments}");
    }
}

pub(crate) enum Expected<'a> {
    Text(&'a str),
    Error(&'a str),
}

/// Keeps every piece of progress.
#[derive(Default)]
pub(crate) struct Recorder {
    pieces: Mutex<Vec<String>>,
}

impl Recorder {
    pub(crate) fn pieces(&self) -> Vec<String> {
        self.pieces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Progress for Recorder {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        self.pieces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(text);
        Box::pin(async {})
    }
}

pub(crate) fn make_fifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status();
    assert!(status.unwrap().success());
}

/// Makes a directory that a sandbox does not replace by one of its own, as it does with `/tmp`.
pub(crate) fn directory_outside() -> TempDir {
    let program = std::env::current_exe().unwrap();
    tempfile::tempdir_in(program.parent().unwrap()).unwrap()
}
