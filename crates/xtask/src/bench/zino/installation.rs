//! A directory with an installation of zino, and its services.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use serde_json::json;
use testkit::Workdir;

use super::super::peer::Peer;
use super::super::programs::clean_command;
use super::super::scenarios::Bench;
use super::client::{Client, frame};

/// In the order of the architecture, with their names on the wire.
pub(super) const SERVICES: [&str; 7] = ["rtr", "sys", "exc", "mem", "ctx", "agr", "daemon"];

/// How long services may take to respond.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_micros(100);

pub(super) struct Installation {
    workdir: Workdir,
    zino: PathBuf,
}

impl Installation {
    /// Writes what `zino init` writes, with the model server as the model.
    pub(super) fn new(bench: &Bench<'_>, name: &str) -> anyhow::Result<Self> {
        let installation = Self {
            workdir: Workdir::new(name),
            zino: bench.zino_binary().to_owned(),
        };
        let status = installation.zino("init").stdout(Stdio::null()).status()?;
        ensure!(status.success(), "zino init failed");
        let mut config = format!(
            "[api]\nbase_url = \"http://127.0.0.1:{}/v1\"\nkey = \"x\"\n[service]\nmodel = \"m\"\n",
            bench.model_port()
        );
        for service in SERVICES {
            config.push_str(&format!("[{service}]\nsocket = \"run/{service}.sock\"\n"));
        }
        installation.workdir.write("ZINO.toml", config);
        Ok(installation)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.workdir.path()
    }

    pub(super) fn socket(&self, service: &str) -> PathBuf {
        self.path().join(format!("run/{service}.sock"))
    }

    /// Starts all services in one process, without waiting until they respond.
    pub(super) fn spawn(&self) -> anyhow::Result<Peer> {
        self.serve("up")
    }

    /// Starts all services in one process and waits until they respond.
    pub(super) fn up(&self) -> anyhow::Result<Peer> {
        self.remove_sockets()?;
        let zino = self.spawn()?;
        self.wait()?;
        Ok(zino)
    }

    /// Starts each service in a separate process and waits until all respond.
    pub(super) fn up_apart(&self) -> anyhow::Result<Vec<Peer>> {
        self.remove_sockets()?;
        let services = SERVICES.map(|service| self.serve(service));
        let services: Vec<Peer> = services.into_iter().collect::<anyhow::Result<_>>()?;
        self.wait()?;
        Ok(services)
    }

    /// Waits until every service has answered a ping.
    pub(super) fn wait(&self) -> anyhow::Result<()> {
        let ping = frame(&json!({"type": "ping"}))?;
        let deadline = Instant::now() + PATIENCE;
        // Starts with the service that is bound last, so that the others are not disturbed before it
        // exists.
        for service in SERVICES.into_iter().rev() {
            let socket = self.socket(service);
            while Client::new(&socket).ask(&ping).is_err() {
                if Instant::now() > deadline {
                    let log = fs::read_to_string(self.path().join("zino.log"))?;
                    bail!("{service} does not answer: {log}");
                }
                thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// A service that was killed leaves its socket.
    pub(super) fn remove_sockets(&self) -> anyhow::Result<()> {
        let directory = self.path().join("run");
        if directory.is_dir() {
            fs::remove_dir_all(directory)?;
        }
        Ok(())
    }

    fn serve(&self, command: &str) -> anyhow::Result<Peer> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.path().join("zino.log"))?;
        let mut command = self.zino(command);
        command.args(["--config", "ZINO.toml"]).stderr(log);
        Peer::start(command)
    }

    fn zino(&self, argument: &str) -> Command {
        let mut command = clean_command(&self.zino);
        command
            .arg(argument)
            .env("HOME", self.workdir.home())
            .current_dir(self.path());
        command
    }
}
