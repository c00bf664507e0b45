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
const ADDED: [(&str, Duration); 2] = [
    ("TLS", Duration::from_micros(300)),
    ("NATS", Duration::from_micros(600)),
];

impl ClusterBench {
    /// Measures requests to `mem`, one after the other, over connections that are kept.
    pub(in super::super) fn hops(&self) -> anyhow::Result<Vec<Row>> {
        let site = Site::new(&self.program)?.with_link(Link::Nats)?;
        let (_, mut back) = site.front_and_back(Link::Nats, &loopback_places(2), site.url())?;
        back[0].start()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let links = [Link::Unix, Link::Tls, Link::Nats];
        let [unix, tls, nats] = runtime.block_on(async {
            let mut callers = Vec::new();
            for link in links {
                callers.push(site.memory(link, &back[0]).await?);
            }
            let mut samples = links.map(|_| Samples::default());
            let count = self.effort.rounds(5_000);
            // Interleaved, so that all run under the same conditions.
            for round in 0..count + count / 10 {
                for (memory, samples) in callers.iter().zip(&mut samples) {
                    let elapsed = time(memory).await?;
                    if round >= count / 10 {
                        samples.push(elapsed);
                    }
                }
            }
            anyhow::Ok(samples)
        })?;
        let mut rows = Vec::new();
        for ((name, added), own) in ADDED.into_iter().zip([&tls, &nats]) {
            for rank in [50, 99] {
                rows.push(Row {
                    what: format!("one call to `mem`, {name}, p{rank}"),
                    value: Quantity::Time(own.percentile(rank)),
                    floor: Some((UNIX, Quantity::Time(unix.percentile(rank)))),
                    target: None,
                    original: "",
                });
            }
            rows.push(Row {
                what: format!("added by a hop, {name}, p50"),
                value: Quantity::Time(own.median().saturating_sub(unix.median())),
                floor: None,
                target: Some(Quantity::Time(added)),
                original: "",
            });
        }
        Ok(rows)
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
