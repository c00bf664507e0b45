//! An example in a temporary copy of the repository, and a zot that runs it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{ModelServer, Wire, Workdir, ZotCommand};

use crate::support::{Session, binary, of_kind};

/// The language of an example.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Python,
    Node,
    Jq,
}

impl Need {
    /// Fails if it is not installed: a skipped test must not look like a passed one.
    fn check(self) {
        let (program, arguments) = match self {
            Self::Python => (
                "python3",
                ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"],
            ),
            Self::Node => (
                "node",
                [
                    "-e",
                    "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)",
                ],
            ),
            Self::Jq => ("jq", ["-n", "1"]),
        };
        let output = Command::new(program).args(arguments).output();
        assert!(
            output.is_ok_and(|output| output.status.success()),
            "this test needs {program}, which is missing or too old: install it, or run \
             scripts/test, which does"
        );
    }
}

/// A copy of the examples, because one of them writes to its own directory, with the SDKs at
/// the same relative path as in the repository.
pub(super) struct Example {
    name: &'static str,
    copy: Workdir,
}

impl Example {
    pub(super) fn new(name: &'static str, needs: &[Need]) -> Self {
        needs.iter().for_each(|need| need.check());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let copy = Workdir::new("copy");
        symlink(
            root.join("sdk").canonicalize().unwrap(),
            copy.path().join("sdk"),
        )
        .unwrap();
        copy_directory(
            &root.join("examples/extensions"),
            &copy.path().join("examples/extensions"),
        );
        Self { name, copy }
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.sibling(self.name)
    }

    pub(super) fn sibling(&self, name: &str) -> PathBuf {
        self.copy.path().join("examples/extensions").join(name)
    }

    /// Returns a zot with this extension and no mode yet.
    pub(super) fn command(&self) -> ZotCommand {
        ZotCommand::new(binary(), &self.copy)
            .arguments(["--no-ext", "--ext"])
            .argument(self.directory())
    }

    /// `zot rpc` with this extension.
    pub(super) fn start(&self) -> Session {
        let directory = self.directory();
        Session::start_with(Wire::OpenAi, |command| {
            command.arguments(["--no-ext", "--ext"]).argument(directory)
        })
    }

    /// Ends one zot and starts another in the same home.
    pub(super) fn restart(&self, session: Session) -> Session {
        let Session { zot, workdir, .. } = session;
        let finished = zot.finish();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let server = ModelServer::start();
        let zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi)
            .arguments(["--no-ext", "--ext"])
            .argument(self.directory())
            .spawn();
        Session {
            zot,
            server,
            workdir,
        }
    }

    /// Ends zot and checks that neither zot nor the extension's log reports a problem.
    pub(super) fn end(&self, session: Session) {
        let Session { zot, workdir, .. } = session;
        let finished = zot.finish();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert_eq!(finished.stderr, "");
        let log = workdir
            .zot_home()
            .join(format!("logs/ext-{}.log", self.name));
        let log = fs::read_to_string(log).unwrap_or_default();
        let complaints: Vec<&str> = log
            .lines()
            .filter(|line| !line.ends_with("no ready frame, taken as ready"))
            .collect();
        assert_eq!(complaints, Vec::<&str>::new());
    }
}

/// Runs a command of the extension and returns the requested action.
pub(super) fn invoke(session: &mut Session, name: &str, args: &str) -> Value {
    let command = json!({"id": "invoke", "type": "invoke_command", "name": name, "args": args});
    let response = session.zot.call(command);
    assert_eq!(response["success"], true, "{response}");
    response["data"].clone()
}

/// Returns the texts of the tool results, and whether they are errors.
pub(super) fn results(frames: &[Value]) -> Vec<(String, bool)> {
    of_kind(frames, "tool_result")
        .into_iter()
        .map(|result| {
            let text = result["content"][0]["text"].as_str().unwrap();
            (text.to_owned(), result["is_error"] == true)
        })
        .collect()
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_directory(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
