//! Measures how soon the services respond, and their cost when idle.

use std::time::Instant;

use super::super::measure::median;
use super::super::peer::Peer;
use super::super::report::{Quantity, Row};
use super::super::scenarios::Bench;
use super::installation::Installation;

impl Bench<'_> {
    /// Measures the wall-clock time from starting the program until every service has answered a ping.
    pub(in super::super) fn service_start(&self) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "start")?;
        let (mut together, mut apart, mut floors) = (Vec::new(), Vec::new(), Vec::new());
        // Interleaved, so that all run under the same conditions.
        for _ in 0..self.rounds(50) {
            installation.remove_sockets()?;
            let start = Instant::now();
            let zino = installation.spawn()?;
            installation.wait()?;
            together.push(start.elapsed());
            drop(zino);
            let start = Instant::now();
            let services = installation.up_apart()?;
            apart.push(start.elapsed());
            drop(services);
            let start = Instant::now();
            self.floor()?.call("ping")?;
            floors.push(start.elapsed());
        }
        let floor = Some(("minimal program, pong", Quantity::Time(median(floors))));
        Ok(vec![
            Row {
                what: "`zino up`, start until all seven answer, wall".to_owned(),
                value: Quantity::Time(median(together)),
                floor,
                target: Some(Quantity::milliseconds(20.0)),
                original: "1,146 ms",
            },
            Row {
                what: "seven processes, likewise".to_owned(),
                value: Quantity::Time(median(apart)),
                floor,
                target: None,
                original: "",
            },
        ])
    }

    /// Measures the memory of services that have answered one ping each.
    pub(in super::super) fn service_memory(&self) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "memory")?;
        let (mut resident, mut proportional, mut apart) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.rounds(10) {
            let zino = installation.up()?;
            zino.cpu()?;
            resident.push(zino.resident_bytes()?);
            proportional.push(zino.proportional_bytes()?);
            drop(zino);
            let services = installation.up_apart()?;
            let bytes = services.iter().map(Peer::proportional_bytes);
            apart.push(bytes.sum::<anyhow::Result<u64>>()?);
        }
        let row = |what: &str, values, target, original| Row {
            what: what.to_owned(),
            value: Quantity::Bytes(median(values)),
            floor: None,
            target,
            original,
        };
        let limit = Some(Quantity::Bytes(15 << 20));
        Ok(vec![
            row("`zino up` idle, RSS", resident, limit, "186 MiB"),
            row("`zino up` idle, PSS", proportional, None, ""),
            row("seven processes idle, PSS of all", apart, None, ""),
        ])
    }
}
