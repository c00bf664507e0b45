//! Measures rounds of the same work and returns the median.

use std::time::{Duration, Instant};

use super::peer::Peer;

/// The cost of one round.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) wall: Duration,
    pub(super) cpu: Duration,
    /// The CPU time of the children in one round; the mean, because the kernel counts it in ticks.
    pub(super) children: Duration,
}

impl Cost {
    pub(super) fn per(self, steps: u32) -> Self {
        Self {
            wall: self.wall / steps,
            cpu: self.cpu / steps,
            children: self.children / steps,
        }
    }
}

/// Runs `work` for `rounds` rounds after one to warm up, with `prepare` before each. Only `work` counts.
pub(super) fn rounds(
    peer: &mut Peer,
    rounds: usize,
    mut prepare: impl FnMut(&mut Peer) -> anyhow::Result<()>,
    mut work: impl FnMut(&mut Peer) -> anyhow::Result<()>,
) -> anyhow::Result<Cost> {
    prepare(peer)?;
    work(peer)?;
    let mut walls = Vec::with_capacity(rounds);
    let mut cpus = Vec::with_capacity(rounds);
    let children_before = peer.children_cpu()?;
    for _ in 0..rounds {
        prepare(peer)?;
        let before = peer.cpu()?;
        let start = Instant::now();
        work(peer)?;
        walls.push(start.elapsed());
        cpus.push(peer.cpu()?.saturating_sub(before));
    }
    let children = peer.children_cpu()?.saturating_sub(children_before);
    Ok(Cost {
        wall: median(walls),
        cpu: median(cpus),
        children: children / rounds.max(1) as u32,
    })
}

/// No preparation.
pub(super) fn nothing(_: &mut Peer) -> anyhow::Result<()> {
    Ok(())
}

/// Returns the median of `values`; the upper one if there are two.
pub(super) fn median<T: Ord + Copy + Default>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
