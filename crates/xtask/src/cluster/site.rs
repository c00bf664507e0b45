//! The directories, certificates and database of some nodes.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use testkit::Workdir;
use testkit::postgres::{Database, Fsync, Postgres, PostgresOptions};

use super::node::{Node, Place, Program};

/// In the order of the architecture, with their names on the wire.
const SERVICES: [&str; 7] = ["rtr", "sys", "exc", "mem", "ctx", "agr", "daemon"];

/// What a node without clients runs.
pub(crate) const BACK_SERVICES: [&str; 4] = ["rtr", "exc", "mem", "agr"];

/// What a node for clients runs, if others do the rest.
const FRONT_SERVICES: [&str; 3] = ["sys", "ctx", "daemon"];

/// What nodes offer each other.
const SHARED_SERVICES: [&str; 3] = ["rtr", "mem", "agr"];

/// The port of the first service; the others follow.
const FIRST_PORT: usize = 7440;

/// A directory and a database that nodes share.
pub(crate) struct Site {
    workdir: Workdir,
    program: Program,
    pub(crate) postgres: Postgres,
    database: Database,
}

impl Site {
    /// Starts a database, makes its tables, and makes an authority for certificates.
    pub(crate) fn new(program: &Program) -> anyhow::Result<Self> {
        let postgres = Postgres::with(&PostgresOptions {
            fsync: Fsync::On,
            ..PostgresOptions::default()
        });
        let site = Self {
            workdir: Workdir::new("site"),
            program: program.clone(),
            database: postgres.database(),
            postgres,
        };
        let config = format!("[store]\nurl = \"{}\"\n", site.database.url);
        site.workdir.write("ZINO.toml", config);
        site.zino(&["store", "migrate"])?;
        site.zino(&["certs", "init", "certs"])?;
        Ok(site)
    }

    /// Runs a statement and returns its rows.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.postgres.sql(&self.database.name, statement)
    }

    /// Returns the URL of the database.
    pub(crate) fn url(&self) -> &str {
        &self.database.url
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.workdir.path()
    }

    /// Returns the URL of the database at another address.
    pub(crate) fn tcp_url(&self, address: Ipv4Addr, port: u16) -> String {
        format!(
            "postgres://postgres@{address}:{port}/{}",
            self.database.name
        )
    }

    /// Makes nodes that run everything and share only the database.
    pub(crate) fn alone(&self, places: &[Place]) -> anyhow::Result<Vec<Node>> {
        let nodes = places.iter().zip(1..);
        nodes
            .map(|(place, number)| {
                let name = format!("alone-{number}");
                self.node(&name, &SERVICES, place.clone(), &[], self.url())
            })
            .collect()
    }

    /// Makes nodes that run everything and share `mem` and `agr` over TLS.
    pub(crate) fn equals(&self, places: &[Place]) -> anyhow::Result<Vec<Node>> {
        let addresses: Vec<Ipv4Addr> = places.iter().map(Place::address).collect();
        let nodes = places.iter().zip(1..);
        nodes
            .map(|(place, number)| {
                let name = format!("node-{number}");
                self.node(
                    &name,
                    &SERVICES,
                    place.clone(),
                    &addresses,
                    &self.database.url,
                )
            })
            .collect()
    }

    /// Makes a node for clients, and others that do its work, over TLS. The first place is the client's.
    pub(crate) fn front_and_back(
        &self,
        places: &[Place],
        url: &str,
    ) -> anyhow::Result<(Node, Vec<Node>)> {
        let (front, back) = places.split_first().context("a place for the front")?;
        let addresses: Vec<Ipv4Addr> = back.iter().map(Place::address).collect();
        let front = self.node("front", &FRONT_SERVICES, front.clone(), &addresses, url)?;
        let nodes = back.iter().zip(1..);
        let nodes = nodes.map(|(place, number)| {
            let name = format!("back-{number}");
            self.node(&name, &BACK_SERVICES, place.clone(), &[], url)
        });
        Ok((front, nodes.collect::<anyhow::Result<_>>()?))
    }

    /// Makes a node that calls the shared services at `peers`, or its own without any.
    fn node(
        &self,
        name: &str,
        services: &[&'static str],
        place: Place,
        peers: &[Ipv4Addr],
        url: &str,
    ) -> anyhow::Result<Node> {
        self.certificate(name)?;
        let directory = self.path().join(name);
        fs::create_dir_all(&directory)?;
        let address = place.address();
        let node = Node::new(
            name,
            directory.clone(),
            self.program.clone(),
            services,
            place,
        );
        let init = node.command("init").output()?;
        ensure!(init.status.success(), "zino init: {init:?}");
        let mut config = format!(
            "[api]\nbase_url = \"http://127.0.0.1:{}/v1\"\nkey = \"x\"\n[service]\nmodel = \"m\"\n\
             [store]\nurl = \"{url}\"\n\
             [tls]\nca = \"../certs/ca.pem\"\ncertificate = \"../certs/{name}.pem\"\n\
             key = \"../certs/{name}.key\"\n",
            node.model.port()
        );
        for service in SERVICES {
            writeln!(config, "[{service}]\nsocket = \"run/{service}.sock\"")?;
        }
        writeln!(config, "[listen]")?;
        for service in SHARED_SERVICES
            .into_iter()
            .filter(|name| services.contains(name))
        {
            writeln!(config, "{service} = \"{}\"", url_of(address, service))?;
        }
        if !peers.is_empty() {
            writeln!(config, "[peers]")?;
            for service in SHARED_SERVICES {
                let peers = peers.iter().map(|peer| url_of(*peer, service));
                writeln!(config, "{service} = {:?}", peers.collect::<Vec<_>>())?;
            }
        }
        fs::write(directory.join("ZINO.toml"), config)?;
        Ok(node)
    }

    /// Issues a certificate for every service, and for clients.
    fn certificate(&self, name: &str) -> anyhow::Result<()> {
        let mut arguments = vec!["certs", "issue", "certs", name];
        arguments.extend(SERVICES);
        arguments.push("client");
        self.zino(&arguments)
    }

    /// Runs the program in the shared directory.
    pub(crate) fn zino(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let output = Command::new(&self.program.0)
            .args(arguments)
            .current_dir(self.path())
            .output()?;
        ensure!(
            output.status.success(),
            "zino {}: {}{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

/// Returns where a service listens on a node with this address.
pub(crate) fn url_of(address: Ipv4Addr, service: &str) -> String {
    let index = SERVICES.iter().position(|name| *name == service);
    let port = FIRST_PORT + index.unwrap_or_default();
    format!("tls://{address}:{port}")
}

/// Returns places on this machine, which other runs at the same time do not use.
pub(crate) fn loopback_places(count: u8) -> Vec<Place> {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let place = |number| Place::Loopback(Ipv4Addr::new(127, high.max(1), low, number));
    (1..=count).map(place).collect()
}
