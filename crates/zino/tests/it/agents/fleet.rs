//! Workers on a bus with a database, and clients of theirs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use testkit::nats::Nats;
use testkit::postgres::{Database, Postgres};
use testkit::{Workdir, Zot, ZotCommand};

use crate::installation::{BINARY, Installation, Process, eventually};

pub(super) struct Fleet {
    pub(super) installation: Installation,
    workdir: Workdir,
    home: TempDir,
    pub(super) nats: Nats,
    database: Database,
    _postgres: Postgres,
}

impl Fleet {
    /// Starts a bus and a database, for workers with the offline model whose profile has these settings
    /// as well.
    pub(super) fn start(profile: &str) -> Self {
        let nats = Nats::start();
        let postgres = Postgres::start();
        let database = postgres.database();
        let installation = Installation::new(
            "http://127.0.0.1:1/v1",
            &format!(
                "[agents.coder]\ndirectory = \"work\"\nprovider = \"offline\"\njail = false\n{profile}"
            ),
        );
        fs::create_dir(installation.path("work")).unwrap();
        let fleet = Self {
            installation,
            workdir: Workdir::new("attach"),
            home: tempfile::tempdir().unwrap(),
            nats,
            database,
            _postgres: postgres,
        };
        let migrated = fleet.command(&["store", "migrate"]).output().unwrap();
        assert!(migrated.status.success(), "{migrated:?}");
        fleet
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.installation.command(arguments);
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        command
    }

    /// The variables that lead to the bus and the database.
    pub(super) fn variables(&self) -> [(&'static str, String); 3] {
        let home = self.home.path().to_string_lossy().into_owned();
        [
            ("ZINO_BUS_URL", self.nats.url()),
            ("ZINO_STORE_URL", self.database.url.clone()),
            ("ZOT_HOME", home),
        ]
    }

    /// Starts a worker and waits until it serves.
    pub(super) fn worker(&self, name: &str) -> Process {
        let process = self.installation.spawn(self.command(&["agent"]), name);
        let log = self.installation.path(format!("{name}.log"));
        eventually("the worker serves", || {
            fs::read_to_string(&log).is_ok_and(|log| log.contains("serving profile coder"))
        });
        process
    }

    /// Attaches to a session.
    pub(super) fn attach(&self, arguments: &[&str]) -> Zot {
        let config = self.installation.path("ZINO.toml");
        let command = ZotCommand::new(BINARY, &self.workdir)
            .argument("attach")
            .argument("--config")
            .argument(config)
            .arguments(arguments)
            .env("ZINO_BUS_URL", self.nats.url());
        command.spawn()
    }

    /// Returns the id that `zino attach` has said.
    pub(super) fn session_of(&self, client: &Zot) -> String {
        let mut id = String::new();
        eventually("the session is opened", || {
            let said = client.stderr();
            let line = said
                .lines()
                .find_map(|line| line.strip_prefix("zino: session "));
            id = line.unwrap_or_default().to_owned();
            !id.is_empty()
        });
        id
    }

    /// A path in the directory of the sessions.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.installation.path("work").join(name)
    }

    pub(super) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    pub(super) fn wait_for_file(&self, name: &str) {
        eventually(name, || {
            self.read(name).is_some_and(|text| !text.is_empty())
        });
    }
}
