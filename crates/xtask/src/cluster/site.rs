//! The directories, certificates and database of some nodes.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use testkit::Workdir;
use testkit::postgres::{Database, Fsync, Postgres, PostgresOptions};

use zino::config::Config;
use zino::kind::ServiceKind;
use zino::network::identity::LiveIdentity;
use zino::peer::Peer;
use zot_wire::MAX_FRAME_BYTES;
use zot_wire::zino::memory::Request;

use super::authority::{Authority, Validity};
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

/// How nodes call each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Tls,
    /// To compare with.
    Unix,
}

/// A directory and a database that nodes share.
pub(crate) struct Site {
    workdir: Workdir,
    program: Program,
    pub(crate) authority: Authority,
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
            authority: Authority::new("the site")?,
            database: postgres.database(),
            postgres,
        };
        let config = format!("[store]\nurl = \"{}\"\n", site.database.url);
        site.workdir.write("ZINO.toml", config);
        site.zino(&["store", "migrate"])?;
        fs::create_dir_all(site.certificates())?;
        site.authority.write(&site.certificates().join("ca.pem"))?;
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

    /// Returns the directory of all certificates.
    pub(crate) fn certificates(&self) -> PathBuf {
        self.path().join("certs")
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.workdir.path()
    }

    /// Returns the URL of the database at another address, without TLS, which it does not have.
    pub(crate) fn tcp_url(&self, address: Ipv4Addr, port: u16) -> String {
        format!(
            "postgres://postgres@{address}:{port}/{}?sslmode=disable",
            self.database.name
        )
    }

    /// Makes nodes that run everything and share only the database.
    pub(crate) fn alone(&self, places: &[Place]) -> anyhow::Result<Vec<Node>> {
        let nodes = places.iter().zip(1..);
        nodes
            .map(|(place, number)| {
                let name = format!("alone-{number}");
                self.node(&name, &SERVICES, place.clone(), "", self.url())
            })
            .collect()
    }

    /// Makes nodes that run everything and share `rtr`, `mem` and `agr`.
    pub(crate) fn equals(&self, link: Link, places: &[Place]) -> anyhow::Result<Vec<Node>> {
        let names = (1..=places.len()).map(|number| format!("node-{number}"));
        let neighbours: Vec<(String, Place)> = names.zip(places.iter().cloned()).collect();
        let nodes = neighbours.iter().map(|(name, place)| {
            let peers = self.peers(link, &neighbours);
            self.node(name, &SERVICES, place.clone(), &peers, self.url())
        });
        nodes.collect()
    }

    /// Makes a node for clients, and others that do its work. The first place is the former's.
    pub(crate) fn front_and_back(
        &self,
        link: Link,
        places: &[Place],
        url: &str,
    ) -> anyhow::Result<(Node, Vec<Node>)> {
        let (front, back) = places.split_first().context("a place for the front")?;
        let names = (1..=back.len()).map(|number| format!("back-{number}"));
        let neighbours: Vec<(String, Place)> = names.zip(back.iter().cloned()).collect();
        let peers = self.peers(link, &neighbours);
        let front = self.node("front", &FRONT_SERVICES, front.clone(), &peers, url)?;
        let nodes = neighbours
            .iter()
            .map(|(name, place)| self.node(name, &BACK_SERVICES, place.clone(), "", url));
        Ok((front, nodes.collect::<anyhow::Result<_>>()?))
    }

    /// Returns the configuration that calls the shared services at these nodes.
    fn peers(&self, link: Link, nodes: &[(String, Place)]) -> String {
        let lines = SHARED_SERVICES.map(|service| {
            let urls = nodes.iter().map(|(name, place)| match link {
                Link::Tls => tls_url(place.address(), service),
                Link::Unix => {
                    let socket = self.path().join(format!("{name}/run/{service}.sock"));
                    format!("unix://{}", socket.display())
                }
            });
            format!("{service} = {:?}\n", urls.collect::<Vec<_>>())
        });
        format!("[peers]\n{}", lines.concat())
    }

    /// Makes a node, with the part of its configuration that names its peers.
    fn node(
        &self,
        name: &str,
        services: &[&'static str],
        place: Place,
        peers: &str,
        url: &str,
    ) -> anyhow::Result<Node> {
        let certificates = self.certificates();
        self.authority
            .issue(&certificates, name, &SERVICES, Validity::Valid)?;
        let directory = self.path().join(name);
        fs::create_dir_all(&directory)?;
        let address = place.address();
        let program = self.program.clone();
        let node = Node::new(name, directory.clone(), program, services, place);
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
        let shared = SHARED_SERVICES.into_iter();
        for service in shared.filter(|name| services.contains(name)) {
            writeln!(config, "{service} = \"{}\"", tls_url(address, service))?;
        }
        fs::write(directory.join("ZINO.toml"), config + peers)?;
        Ok(node)
    }

    /// Returns a caller of a node's `mem`.
    pub(crate) fn memory(&self, link: Link, node: &Node) -> anyhow::Result<Peer<Request>> {
        if link == Link::Unix {
            return Ok(Peer::socket(node.socket("mem"), MAX_FRAME_BYTES));
        }
        let directory = self.certificates();
        self.authority
            .issue(&directory, "caller", &["daemon"], Validity::Valid)?;
        let directory = directory.display();
        let text = format!(
            "[peers]\nmem = \"{}\"\n[tls]\nca = \"{directory}/ca.pem\"\n\
             certificate = \"{directory}/caller.pem\"\nkey = \"{directory}/caller.key\"\n",
            tls_url(node.address(), "mem")
        );
        let config = Config::parse(&text).map_err(anyhow::Error::msg)?.config;
        let identity = LiveIdentity::of(&config)?;
        let identity = identity.as_ref();
        Ok(Peer::configured(
            &config,
            ServiceKind::Memory,
            identity,
            None,
        ))
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
pub(crate) fn tls_url(address: Ipv4Addr, service: &str) -> String {
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
