//! A node: one process with some or all services.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::ModelServer;
use testkit::network::Host;

use super::client::ask;
use super::health::readiness;
use super::load::Entrance;

/// How long a node may take to answer after its start.
const START_TIME: Duration = Duration::from_secs(30);

/// How much of a log is shown.
const LOG_LINES: usize = 20;

const POLL: Duration = Duration::from_millis(2);

/// The program under test.
#[derive(Debug, Clone)]
pub(crate) struct Program(pub(crate) PathBuf);

/// Where a node runs.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// On this machine, with a loopback address of its own.
    Loopback(Ipv4Addr),
    /// On a host of a network.
    Host(Host),
}

impl Place {
    pub(crate) fn address(&self) -> Ipv4Addr {
        match self {
            Self::Loopback(address) => *address,
            Self::Host(host) => host.address(),
        }
    }
}

/// A node; its process is killed when it is dropped.
pub(crate) struct Node {
    pub(crate) name: String,
    /// Its own model, so that it shows whether the node works.
    pub(crate) model: ModelServer,
    directory: PathBuf,
    program: Program,
    role: Role,
    /// Where it says whether it is ready.
    health: Option<SocketAddr>,
    place: Place,
    child: Option<Child>,
}

/// What the process of a node does.
#[derive(Debug, Clone)]
pub(super) enum Role {
    Services(&'static [&'static str]),
    /// It runs sessions of all profiles.
    Agent,
}

impl Node {
    pub(super) fn new(
        name: &str,
        directory: PathBuf,
        program: Program,
        role: Role,
        place: Place,
        health: Option<SocketAddr>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            model: match &place {
                Place::Loopback(_) => ModelServer::start(),
                Place::Host(host) => host.run(ModelServer::start),
            },
            directory,
            program,
            role,
            health,
            place,
            child: None,
        }
    }

    pub(crate) fn address(&self) -> Ipv4Addr {
        self.place.address()
    }

    pub(crate) fn socket(&self, service: &str) -> PathBuf {
        self.directory.join(format!("run/{service}.sock"))
    }

    /// Adds lines to the end of its configuration, where the bus is named.
    pub(crate) fn configure(&self, lines: &str) -> anyhow::Result<()> {
        let path = self.directory.join("ZINO.toml");
        let config = fs::read_to_string(&path)? + lines;
        Ok(fs::write(path, config)?)
    }

    /// Runs the process, which must refuse to start; returns what it says.
    pub(crate) fn refusal(&mut self) -> anyhow::Result<String> {
        self.spawn()?;
        let mut child = self.child.take().context("the process")?;
        let deadline = Instant::now() + START_TIME;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                child.kill()?;
                child.wait()?;
                bail!("{} started: {}", self.name, self.log());
            }
            std::thread::sleep(POLL);
        };
        ensure!(!status.success(), "{} ended without an error", self.name);
        Ok(self.log())
    }

    /// Starts the process and waits until its services answer.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        self.spawn()?;
        self.wait()
    }

    /// Starts the process.
    pub(crate) fn spawn(&mut self) -> anyhow::Result<()> {
        ensure!(self.child.is_none(), "{} is running", self.name);
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.directory.join("log"))?;
        let mut command = match self.role {
            Role::Services(services) => {
                let mut command = self.command("up");
                command.args(["--only", &services.join(",")]);
                command
            }
            Role::Agent => self.command("agent"),
        };
        command.stdout(log.try_clone()?).stderr(log);
        self.child = Some(command.spawn().context("start zino")?);
        Ok(())
    }

    /// Waits until every service has answered and others can reach it.
    pub(crate) fn wait(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIME;
        let services = match self.role {
            Role::Services(services) => services,
            Role::Agent => &[],
        };
        for service in services {
            let socket = self.socket(service);
            self.wait_for(service, deadline, || {
                let pong = ask(&socket, &json!({ "type": "ping" }));
                pong.map(|_| ()).map_err(|error| error.to_string())
            })?;
        }
        if let Some(address) = self.health {
            let place = self.place.clone();
            self.wait_for("/readyz", deadline, || match &place {
                Place::Loopback(_) => readiness(address),
                Place::Host(host) => host.run(|| readiness(address)),
            })?;
        }
        Ok(())
    }

    fn wait_for(
        &mut self,
        what: &str,
        deadline: Instant,
        mut answer: impl FnMut() -> Result<(), String>,
    ) -> anyhow::Result<()> {
        while let Err(problem) = answer() {
            let ended = match &mut self.child {
                Some(child) => child.try_wait()?.is_some(),
                None => true,
            };
            if ended || Instant::now() > deadline {
                let log = self.log();
                bail!("{}: {what} does not answer: {problem}: {log}", self.name);
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Returns the program with a command, to run in the node's directory and on its host.
    pub(crate) fn command(&self, command: &str) -> Command {
        let program = &self.program.0;
        let mut line = match &self.place {
            Place::Loopback(_) => Command::new(program),
            Place::Host(host) => host.command(program),
        };
        line.arg(command)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.directory)
            // The key for the model of a worker; services have theirs in their configuration.
            .env("OPENAI_API_KEY", "x")
            .current_dir(&self.directory);
        line
    }

    /// Returns whether it runs a service.
    pub(crate) fn runs(&self, service: &str) -> bool {
        matches!(self.role, Role::Services(services) if services.contains(&service))
    }

    /// Sends SIGTERM and waits until it has ended in order.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::TERM)?;
        let mut child = self.child.take().context("the node does not run")?;
        let status = child.wait()?;
        ensure!(status.success(), "{}: {status}: {}", self.name, self.log());
        Ok(())
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself, which the next request notices.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.pid().context("the node does not run")?;
        let pid = Pid::from_raw(i32::try_from(pid)?).context("a process id")?;
        Ok(kill_process(pid, signal)?)
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns how the process ended and the end of its log, if it has ended by itself.
    pub(crate) fn end(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        let log = self.log();
        let lines: Vec<&str> = log.lines().rev().take(LOG_LINES).collect();
        let lines = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
        Some(format!("{} ended with {status}:\n{lines}", self.name))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the sockets of the daemons of nodes.
pub(crate) fn daemons(nodes: &[Node]) -> Vec<Entrance> {
    let nodes = nodes.iter().filter(|node| node.runs("daemon"));
    nodes
        .map(|node| Entrance::Socket(node.socket("daemon")))
        .collect()
}
