//! Several hosts on one machine: network namespaces, joined by a bridge, whose links can be cut.
//!
//! Needs `ip` of iproute2 and root, and fails without them. Hosts share the file system, so Unix sockets
//! still connect them.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The most hosts of a network: names of links have at most 15 bytes, and the addresses are one octet.
const MAX_HOSTS: usize = 99;

/// Distinguishes the networks of this process.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Hosts that reach each other; removed when dropped, with the processes' connections.
pub struct Network {
    switch: String,
    hosts: Vec<Host>,
}

/// A host of a [`Network`].
#[derive(Debug, Clone)]
pub struct Host {
    namespace: String,
    switch: String,
    /// The end of its cable at the switch.
    port: String,
    address: Ipv4Addr,
}

impl Network {
    /// Makes a network of `count` hosts.
    pub fn new(count: usize) -> Self {
        assert!(count <= MAX_HOSTS, "at most {MAX_HOSTS} hosts");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("zot-test-{}-{number}", std::process::id());
        let switch = format!("{prefix}-switch");
        ip(&["netns", "add", &switch]);
        // From here on, dropping it after a failure removes what exists.
        let mut network = Self {
            switch: switch.clone(),
            hosts: Vec::new(),
        };
        ip(&["-n", &switch, "link", "add", "bridge", "type", "bridge"]);
        ip(&["-n", &switch, "link", "set", "bridge", "up"]);
        for index in 1..=count {
            let namespace = format!("{prefix}-{index}");
            ip(&["netns", "add", &namespace]);
            network.hosts.push(Host {
                namespace,
                switch: switch.clone(),
                port: format!("port{index}"),
                address: Ipv4Addr::new(10, 77, 0, u8::try_from(index).expect("few hosts")),
            });
            network.hosts[index - 1].connect();
        }
        network
    }

    /// Returns the host with this number, from 0.
    pub fn host(&self, index: usize) -> &Host {
        &self.hosts[index]
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let hosts = self.hosts.iter().map(|host| &host.namespace);
        for namespace in hosts.chain([&self.switch]) {
            // A panic here would hide the one that may be in progress.
            let _ = Command::new("ip")
                .args(["netns", "delete", namespace])
                .output();
        }
    }
}

impl Host {
    /// Returns its address, which the other hosts reach.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Returns a command that runs `program` on this host.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.namespace])
            .arg(program);
        command
    }

    /// Runs `work` on a thread of this host: sockets that it makes belong to the host.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.namespace);
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let namespace = File::open(path).expect("open a network namespace");
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                    .expect("enter a network namespace");
                work()
            });
            thread.join().expect("run work on a host")
        })
    }

    /// Cuts its cable: packets vanish in both directions, without a notice to either side.
    pub fn cut(&self) {
        ip(&["-n", &self.switch, "link", "set", &self.port, "nomaster"]);
    }

    /// Connects its cable again.
    pub fn heal(&self) {
        let port = ["-n", &self.switch, "link", "set", &self.port];
        ip(&[&port[..], &["master", "bridge"]].concat());
    }

    fn connect(&self) {
        let Self {
            namespace,
            switch,
            port,
            address,
        } = self;
        let cable = ["link", "add", "eth0", "netns", namespace, "type", "veth"];
        ip(&[&cable[..], &["peer", "name", port, "netns", switch]].concat());
        self.heal();
        ip(&["-n", switch, "link", "set", port, "up"]);
        let address = format!("{address}/24");
        ip(&["-n", namespace, "address", "add", &address, "dev", "eth0"]);
        for link in ["lo", "eth0"] {
            ip(&["-n", namespace, "link", "set", link, "up"]);
        }
    }
}

/// Runs `ip`, and says what is missing when it fails.
fn ip(arguments: &[&str]) {
    let output = match Command::new("ip").args(arguments).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("ip is not installed: run apt-get install iproute2")
        }
        Err(error) => panic!("cannot start ip: {error}"),
    };
    assert!(
        output.status.success(),
        "`ip {}` failed (it needs root and network namespaces): {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
}
