//! Checks that the hosts of a plan can be reached.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::Plan;
use crate::http::HttpClient;

/// One check and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeStep {
    pub stage: ProbeStage,
    pub took: Duration,
    /// What was found, or what went wrong.
    pub outcome: Result<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeStage {
    Lookup,
    Connect,
    /// TLS, through the proxy's tunnel if any.
    Handshake,
}

impl fmt::Display for ProbeStage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Lookup => "lookup",
            Self::Connect => "connect",
            Self::Handshake => "handshake",
        })
    }
}

/// Checks `plan` with `http`, which must have the plan's settings, and stops at the first failure. No
/// request is sent to the server; a proxy is asked for a tunnel to it.
pub async fn probe(plan: &Plan, http: &HttpClient) -> Vec<ProbeStep> {
    let limit = http.timeouts().connect;
    let (host, port) = plan.first_hop();
    let mut steps = Vec::new();
    let mut addresses: Vec<SocketAddr> = Vec::new();
    let mut lookup = async || {
        addresses = within(limit, lookup_host((host, port))).await?.collect();
        let shown: Vec<String> = addresses
            .iter()
            .map(|found| found.ip().to_string())
            .collect();
        Ok(format!("{host} is {}", shown.join(", ")))
    };
    if !step(&mut steps, ProbeStage::Lookup, lookup()).await {
        return steps;
    }
    let connect = async {
        let stream = within(limit, TcpStream::connect(addresses.as_slice())).await?;
        let address = stream.peer_addr().map_err(|error| error.to_string())?;
        Ok(format!("connected to {address}"))
    };
    if !step(&mut steps, ProbeStage::Connect, connect).await || !plan.secure {
        return steps;
    }
    let handshake = async {
        http.check(&plan.uri).await?;
        Ok(format!("{} has a certificate that is trusted", plan.host))
    };
    step(&mut steps, ProbeStage::Handshake, handshake).await;
    steps
}

/// Adds the result of `attempt` and returns whether it succeeded.
async fn step(
    steps: &mut Vec<ProbeStep>,
    stage: ProbeStage,
    attempt: impl Future<Output = Result<String, String>>,
) -> bool {
    let start = Instant::now();
    let outcome = attempt.await;
    let succeeded = outcome.is_ok();
    steps.push(ProbeStep {
        stage,
        took: start.elapsed(),
        outcome,
    });
    succeeded
}

async fn within<T>(
    limit: Duration,
    attempt: impl Future<Output = io::Result<T>>,
) -> Result<T, String> {
    match timeout(limit, attempt).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no response within {limit:?}")),
    }
}
