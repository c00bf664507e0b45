//! Workers that run sessions of zot, and clients that are attached to such a session.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use testkit::{Wire, Zot, ZotCommand};

use super::node::{Node, Place, Role};
use super::site::{Site, health_address};

/// The profile of all sessions.
const PROFILE: &str = "coder";

/// More than half of the sessions of any proof, so that two workers can run them, and less than all.
const SESSIONS: usize = 300;

impl Site {
    /// Makes workers that share the database, the bus and the directory where sessions work.
    pub(crate) fn workers(&self, places: &[Place]) -> anyhow::Result<Vec<Node>> {
        let bus = self.bus_lines()?;
        let work = self.work();
        fs::create_dir_all(&work)?;
        let mut nodes = Vec::new();
        for (place, number) in places.iter().zip(1..) {
            let name = format!("worker-{number}");
            let directory = self.path().join(&name);
            fs::create_dir_all(&directory)?;
            let health = health_address(place.address(), &[]);
            let program = self.program.clone();
            let node = Node::new(
                &name,
                directory.clone(),
                program,
                Role::Agent,
                place.clone(),
                Some(health),
            );
            let config = format!(
                "[store]\nurl = \"{}\"\n{bus}[metrics]\nlisten = \"{health}\"\n\
                 [agents.{PROFILE}]\ndirectory = \"{}\"\nprovider = \"{}\"\nmodel = \"{}\"\n\
                 base_url = \"{}\"\nsessions = {SESSIONS}\n",
                self.url(),
                work.display(),
                Wire::OpenAi.provider(),
                Wire::OpenAi.model(),
                node.model.url(Wire::OpenAi),
            );
            fs::write(directory.join("ZINO.toml"), config)?;
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// Starts `zino attach` with a new session.
    pub(crate) fn attach(&self) -> Zot {
        let command = ZotCommand::new(&self.program.0, &self.workdir);
        command.arguments(["attach", "--profile", PROFILE]).spawn()
    }

    /// Returns the directory where sessions work.
    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Returns the number that a statement selects.
    pub(crate) fn count(&self, statement: &str) -> anyhow::Result<usize> {
        let rows = self.sql(statement);
        rows.trim()
            .parse()
            .with_context(|| format!("a number: {rows}"))
    }
}
