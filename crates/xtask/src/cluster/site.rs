//! The directories, certificates and database of some nodes.

use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use testkit::Workdir;
use testkit::nats::{Nats, NatsOptions, NatsTls};
use testkit::postgres::{Database, Fsync, Postgres, PostgresOptions};

use zino::bus::Bus;
use zino::config::Config;
use zino::kind::ServiceKind;
use zino::logging::{Level, Log};
use zino::network::identity::LiveIdentity;
use zino::peer::Peer;
use zot_wire::MAX_FRAME_BYTES;
use zot_wire::zino::memory::Request;

use super::authority::{Authority, Validity};
use super::node::{Node, Place, Program, Role};

/// In the order of the architecture, with their names on the wire.
const SERVICES: [&str; 7] = ["rtr", "sys", "exc", "mem", "ctx", "agr", "daemon"];

/// What a node without clients runs.
pub(crate) const BACK_SERVICES: [&str; 4] = ["rtr", "exc", "mem", "agr"];

/// What a node for clients runs, if others do the rest.
const FRONT_SERVICES: [&str; 3] = ["sys", "ctx", "daemon"];

/// The processes of a node that shares nothing inside a process.
const APART: [(&str, &[&str]); 3] = [
    ("front", &FRONT_SERVICES),
    ("loop", &["agr", "exc"]),
    ("back", &["rtr", "mem"]),
];

/// What nodes offer each other.
const SHARED_SERVICES: [&str; 3] = ["rtr", "mem", "agr"];

/// The port of the first service; the others follow.
const FIRST_PORT: usize = 7440;

/// The port where a process with the first service says whether it is ready; the others follow.
const FIRST_HEALTH_PORT: u16 = 9440;

/// How nodes call each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Tls,
    Nats,
    /// To compare with.
    Unix,
}

/// How the services of a node that runs everything are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One process.
    Together,
    /// Three processes, so that every call between shared services leaves its process. On the bus, a
    /// service of the same process is called directly.
    Apart,
}

/// A directory, a database and perhaps a bus that nodes share.
pub(crate) struct Site {
    pub(super) workdir: Workdir,
    pub(super) program: Program,
    pub(crate) authority: Authority,
    pub(crate) postgres: Postgres,
    database: Database,
    bus: Option<Nats>,
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
            bus: None,
        };
        let config = format!("[store]\nurl = \"{}\"\n", site.database.url);
        site.workdir.write("ZINO.toml", config);
        site.zino(&["store", "migrate"])?;
        fs::create_dir_all(site.certificates())?;
        site.authority.write(&site.certificates().join("ca.pem"))?;
        Ok(site)
    }

    /// Starts the server of [`Link::Nats`], before nodes are made; on a host, with TLS.
    pub(crate) fn with_bus(mut self, mut options: NatsOptions) -> anyhow::Result<Self> {
        if let Some(host) = &options.host {
            let (certificate, key) = self.authority.issue_for(host.address().into())?;
            options.tls = Some(NatsTls { certificate, key });
        }
        self.bus = Some(Nats::with(options));
        // Clients and tools use the shared directory.
        let lines = self.bus_lines()?;
        let path = self.path().join("ZINO.toml");
        let config = fs::read_to_string(&path)? + &lines;
        fs::write(path, config)?;
        Ok(self)
    }

    /// Returns the part of a configuration that names the bus.
    pub(super) fn bus_lines(&self) -> anyhow::Result<String> {
        let bus = self.bus.as_ref().context("the site has no bus")?;
        let authority = self.certificates().join("ca.pem");
        let authority = authority.display();
        Ok(format!(
            "[bus]\nurl = \"{}\"\nca = \"{authority}\"\n",
            bus.url()
        ))
    }

    /// Starts the server that this kind of link needs, with the settings that docs/cluster.md recommends.
    pub(crate) fn with_link(self, link: Link) -> anyhow::Result<Self> {
        match link {
            Link::Nats => self.with_bus(recommended_bus()),
            Link::Tls | Link::Unix => Ok(self),
        }
    }

    /// Returns the server of [`Self::with_bus`].
    pub(crate) fn bus(&mut self) -> anyhow::Result<&mut Nats> {
        self.bus.as_mut().context("the site has no bus")
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
                let member = Member {
                    name: format!("alone-{number}"),
                    services: &SERVICES,
                    place: place.clone(),
                };
                self.node(&member, "", self.url())
            })
            .collect()
    }

    /// Makes nodes that run everything and share `rtr`, `mem` and `agr`; apart, in one [`Node`] a process.
    pub(crate) fn equals(
        &self,
        link: Link,
        layout: Layout,
        places: &[Place],
    ) -> anyhow::Result<Vec<Node>> {
        let processes: &[(&str, &[&'static str])] = match layout {
            Layout::Together => &[("node", &SERVICES)],
            Layout::Apart => &APART,
        };
        let mut members = Vec::new();
        for (place, number) in places.iter().zip(1..) {
            for (name, services) in processes {
                members.push(Member {
                    name: format!("{name}-{number}"),
                    services,
                    place: place.clone(),
                });
            }
        }
        let peers = self.peers(link, &members)?;
        let nodes = members.iter();
        nodes
            .map(|member| self.node(member, &peers, self.url()))
            .collect()
    }

    /// Makes a node for clients, and others that do its work. The first place is the former's.
    pub(crate) fn front_and_back(
        &self,
        link: Link,
        places: &[Place],
        url: &str,
    ) -> anyhow::Result<(Node, Vec<Node>)> {
        let (front, back) = places.split_first().context("a place for the front")?;
        let front = Member {
            name: "front".to_owned(),
            services: &FRONT_SERVICES,
            place: front.clone(),
        };
        let back = back.iter().zip(1..).map(|(place, number)| Member {
            name: format!("back-{number}"),
            services: &BACK_SERVICES,
            place: place.clone(),
        });
        let back: Vec<Member> = back.collect();
        let peers = self.peers(link, &back)?;
        let front = self.node(&front, &peers, url)?;
        // Over TLS only the front calls others; the bus is for everybody.
        let peers = match link {
            Link::Nats => peers.as_str(),
            Link::Tls | Link::Unix => "",
        };
        let nodes = back.iter().map(|member| self.node(member, peers, url));
        Ok((front, nodes.collect::<anyhow::Result<_>>()?))
    }

    /// Returns the configuration that calls the shared services at these nodes.
    fn peers(&self, link: Link, nodes: &[Member]) -> anyhow::Result<String> {
        if link == Link::Nats {
            return self.bus_lines();
        }
        let lines = SHARED_SERVICES.map(|service| {
            let nodes = nodes.iter().filter(|node| node.services.contains(&service));
            let urls = nodes.map(|Member { name, place, .. }| match link {
                Link::Unix => {
                    let socket = self.path().join(format!("{name}/run/{service}.sock"));
                    format!("unix://{}", socket.display())
                }
                Link::Tls | Link::Nats => tls_url(place.address(), service),
            });
            format!("{service} = {:?}\n", urls.collect::<Vec<_>>())
        });
        Ok(format!("[peers]\n{}", lines.concat()))
    }

    /// Makes a node, with the part of its configuration that names its peers.
    fn node(&self, member: &Member, peers: &str, url: &str) -> anyhow::Result<Node> {
        let Member {
            name,
            services,
            place,
        } = member;
        let health = health_address(place.address(), services);
        let health = self.bus.as_ref().map(|_| health);
        let certificates = self.certificates();
        self.authority
            .issue(&certificates, name, &SERVICES, Validity::Valid)?;
        let directory = self.path().join(name);
        fs::create_dir_all(&directory)?;
        let address = place.address();
        let program = self.program.clone();
        let node = Node::new(
            name,
            directory.clone(),
            program,
            Role::Services(services),
            place.clone(),
            health,
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
        if let Some(address) = health {
            writeln!(config, "[metrics]\nlisten = \"{address}\"")?;
        }
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
    pub(crate) async fn memory(&self, link: Link, node: &Node) -> anyhow::Result<Peer<Request>> {
        match link {
            Link::Unix => return Ok(Peer::socket(node.socket("mem"), MAX_FRAME_BYTES)),
            Link::Nats => {
                let config = Config::load(&self.path().join("ZINO.toml"))?.config;
                let log = Log::new("client", Level::Error);
                let bus = Bus::connect(&config, "client", log).await?;
                let bus = bus.context("the site has no bus")?;
                return Ok(Peer::on_bus(&bus, "mem"));
            }
            Link::Tls => {}
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

/// A node before it exists.
struct Member {
    name: String,
    services: &'static [&'static str],
    place: Place,
}

/// Returns the settings that docs/cluster.md recommends.
pub(crate) fn recommended_bus() -> NatsOptions {
    NatsOptions {
        ping_interval: Some(Duration::from_secs(10)),
        ping_max: Some(2),
        settings: "write_deadline: \"5s\"\n".to_owned(),
        ..NatsOptions::default()
    }
}

/// Returns where a process with these services says whether it is ready.
pub(super) fn health_address(address: Ipv4Addr, services: &[&str]) -> SocketAddr {
    let first = services.first().copied();
    let index = SERVICES.iter().position(|name| Some(*name) == first);
    let index = index.and_then(|index| u16::try_from(index).ok());
    // A worker has none of them.
    let port = FIRST_HEALTH_PORT + index.unwrap_or(99);
    SocketAddr::new(address.into(), port)
}

/// Returns where a service listens on a node with this address.
pub(crate) fn tls_url(address: Ipv4Addr, service: &str) -> String {
    let index = SERVICES.iter().position(|name| *name == service);
    let port = FIRST_PORT + index.unwrap_or_default();
    format!("tls://{address}:{port}")
}

/// Returns places on this machine, which neither other runs nor other proofs at the same time use.
pub(crate) fn loopback_places(count: u8) -> Vec<Place> {
    static USED: AtomicU8 = AtomicU8::new(0);
    // Those of the first proofs are free again when the numbers run out.
    let first = USED.fetch_add(count, Ordering::Relaxed);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let place = |number| Place::Loopback(Ipv4Addr::new(127, high.max(1), low, number));
    (0..count)
        .map(|number| place(first.wrapping_add(number)))
        .collect()
}
