//! What the sandbox costs: the same step without and with it, in turn.

use testkit::{Wire, Workdir};

use super::measure::{Cost, median, rounds};
use super::peer::Peer;
use super::report::{Quantity, Row};
use super::scenarios::{Bench, PING, clear};

/// The number of commands in one prompt.
const COMMANDS: u32 = 25;

impl Bench<'_> {
    /// Measures `bash true` at two levels. The floor is the level `off`.
    pub(super) fn sandboxed_commands(&self) -> anyhow::Result<Vec<Row>> {
        let mut costs = [Vec::new(), Vec::new(), Vec::new()];
        let levels = ["off", "workspace", "read-only"];
        let workdirs = levels.map(Workdir::new);
        let mut peers = Vec::new();
        for (level, workdir) in levels.iter().zip(&workdirs) {
            let mut command = self.zot(workdir, Wire::OpenAi);
            command.args(["--sandbox", level]);
            peers.push(Peer::start(command)?);
        }
        let prompt = format!(r#"loop:{COMMANDS}:bash:{{"command":"true"}}"#);
        // One round at a time, so that all run under the same conditions.
        for _ in 0..self.effort().rounds(40) {
            for (peer, costs) in peers.iter_mut().zip(&mut costs) {
                let work = |zot: &mut Peer| zot.prompt(&prompt).map(drop);
                costs.push(rounds(peer, 1, clear, work)?.per(COMMANDS));
            }
        }
        let [off, workspace, read_only] = costs.map(|costs| typical(&costs));
        let mut rows = Vec::new();
        for (level, own) in [("workspace", workspace), ("read-only", read_only)] {
            let row = |what: &str, own, off, more: Option<f64>| Row {
                what: format!("`bash true` at `{level}`, {what}"),
                value: Quantity::Time(own),
                floor: Some(("at `off`", Quantity::Time(off))),
                target: more.map(|more| {
                    Quantity::Time(off + std::time::Duration::from_secs_f64(more / 1e3))
                }),
                original: "",
            };
            rows.push(row("wall", own.wall, off.wall, Some(1.5)));
            rows.push(row("CPU", own.cpu, off.cpu, Some(0.3)));
            let (own, off) = (own.cpu + own.children, off.cpu + off.children);
            rows.push(row("CPU with children", own, off, None));
        }
        Ok(rows)
    }

    /// Measures what a sandbox costs that nothing has been run in.
    pub(super) fn idle_sandboxes(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("idle-sandbox");
        let (mut starts, mut idle) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for _ in 0..self.effort().rounds(100) {
            for (place, level) in ["off", "workspace"].into_iter().enumerate() {
                let mut command = self.zot(&workdir, Wire::OpenAi);
                command.args(["--sandbox", level]);
                let start = std::time::Instant::now();
                let mut peer = Peer::start(command)?;
                peer.call(PING)?;
                starts[place].push(start.elapsed());
                idle[place].push(peer.resident_bytes()?);
            }
        }
        let ([off, on], [off_bytes, on_bytes]) = (starts.map(median), idle.map(median));
        Ok(vec![
            Row {
                what: "start to `pong` at `workspace`, wall".to_owned(),
                value: Quantity::Time(on),
                floor: Some(("at `off`", Quantity::Time(off))),
                target: None,
                original: "",
            },
            Row {
                what: "idle memory at `workspace`, RSS".to_owned(),
                value: Quantity::Bytes(on_bytes),
                floor: Some(("at `off`", Quantity::Bytes(off_bytes))),
                target: None,
                original: "",
            },
        ])
    }
}

/// Returns the medians; of children the mean, which the kernel counts in ticks.
fn typical(costs: &[Cost]) -> Cost {
    let children: std::time::Duration = costs.iter().map(|cost| cost.children).sum();
    Cost {
        wall: median(costs.iter().map(|cost| cost.wall).collect()),
        cpu: median(costs.iter().map(|cost| cost.cpu).collect()),
        children: children / costs.len().max(1) as u32,
    }
}
