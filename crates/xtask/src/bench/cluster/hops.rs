//! Measures one call from a node to another.

use std::time::{Duration, Instant};

use anyhow::ensure;
use zino::peer::Peer;
use zot_wire::zino::memory::{Request, Response};

use super::super::report::{Quantity, Row};
use super::super::samples::Samples;
use super::{ClusterBench, UNIX};
use crate::cluster::{Link, Site, loopback_places};

/// What a hop may cost more than over a Unix socket, at the median.
const ADDED: Duration = Duration::from_micros(300);

impl ClusterBench {
    /// Measures requests to `mem`, one after the other, over a kept connection.
    pub(in super::super) fn hops(&self) -> anyhow::Result<Vec<Row>> {
        let site = Site::new(&self.program)?;
        let mut nodes = site.alone(&loopback_places(1))?;
        nodes[0].start()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (tls, unix) = runtime.block_on(async {
            let tls = site.memory(Link::Tls, &nodes[0])?;
            let unix = site.memory(Link::Unix, &nodes[0])?;
            let (mut over_tls, mut over_unix) = (Samples::default(), Samples::default());
            let count = self.effort.rounds(5_000);
            // Interleaved, so that both run under the same conditions.
            for round in 0..count + count / 10 {
                let times = (time(&tls).await?, time(&unix).await?);
                if round >= count / 10 {
                    over_tls.push(times.0);
                    over_unix.push(times.1);
                }
            }
            anyhow::Ok((over_tls, over_unix))
        })?;
        let row = |what: &str, value, floor, target| Row {
            what: what.to_owned(),
            value: Quantity::Time(value),
            floor,
            target,
            original: "",
        };
        let beside =
            |samples: &Samples, rank| Some((UNIX, Quantity::Time(samples.percentile(rank))));
        let (own, floor) = (tls.median(), unix.median());
        Ok(vec![
            row("one call to `mem`, p50", own, beside(&unix, 50), None),
            row(
                "one call to `mem`, p99",
                tls.percentile(99),
                beside(&unix, 99),
                None,
            ),
            row(
                "added by a hop, p50",
                own.saturating_sub(floor),
                None,
                Some(Quantity::Time(ADDED)),
            ),
        ])
    }
}

/// Returns how long one request takes that reads one row.
async fn time(memory: &Peer<Request>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let response = memory.ask(Request::GetSoft).await?;
    let elapsed = start.elapsed();
    let expected = matches!(&response, Response::Other(value) if value["type"] == "soft_memory");
    ensure!(expected, "unexpected {response:?}");
    Ok(elapsed)
}
