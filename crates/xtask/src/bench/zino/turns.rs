//! Measures a turn of several iterations on a long conversation, through `agr` and `rtr`.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::Wire;

use super::super::measure::{Cost, median};
use super::super::peer::Peer;
use super::super::report::Row;
use super::super::scenarios::{Bench, cpu_row, wall_row};
use super::client::{Client, frame};
use super::installation::Installation;

const MESSAGES: usize = 10_000;

/// The number of model calls in one turn; only the end of the conversation changes between them.
const ITERATIONS: u32 = 10;

impl Bench<'_> {
    /// Measures what such a turn costs the services, in one process and in separate ones.
    pub(in super::super) fn long_turns(&self) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "turns")?;
        let count = self.rounds(20);
        let request = turn_request()?;
        let together = self.turns(&installation, &[installation.up()?], count, &request)?;
        let apart = self.turns(&installation, &installation.up_apart()?, count, &request)?;
        let mut floor = self.floor()?;
        let exchanges = self.exchange(
            &mut floor,
            count,
            Wire::OpenAi,
            ITERATIONS,
            MESSAGES,
            "say:1",
        )?;
        let exchanges = Cost {
            wall: exchanges.wall * ITERATIONS,
            cpu: exchanges.cpu * ITERATIONS,
            children: Duration::ZERO,
        };
        let floor = ("as many raw exchanges of that size", exchanges);
        let name = format!("turn of {ITERATIONS} iterations on {MESSAGES} messages");
        let mut rows = Vec::new();
        for (installation, cost) in [("`zino up`", together), ("seven processes", apart)] {
            let name = format!("{name}, {installation}");
            rows.push(cpu_row(&name, cost, floor, None, ""));
            rows.push(wall_row(&name, cost, floor));
        }
        Ok(rows)
    }

    fn turns(
        &self,
        installation: &Installation,
        services: &[Peer],
        count: usize,
        request: &[u8],
    ) -> anyhow::Result<Cost> {
        let socket = installation.socket("agr");
        let mut client = Client::new(&socket);
        let cpu = || {
            services
                .iter()
                .map(Peer::cpu)
                .sum::<anyhow::Result<Duration>>()
        };
        let (mut walls, mut cpus) = (Vec::new(), Vec::new());
        // The first round warms up.
        for round in 0..=count {
            self.reset_server()?;
            let before = cpu()?;
            let start = Instant::now();
            let answer = client.ask(request)?;
            let wall = start.elapsed();
            let answer: Value = serde_json::from_slice(answer)?;
            ensure!(answer["iterations"] == ITERATIONS, "unexpected {answer}");
            if round > 0 {
                walls.push(wall);
                cpus.push(cpu()?.saturating_sub(before));
            }
        }
        Ok(Cost {
            wall: median(walls),
            cpu: median(cpus),
            children: Duration::ZERO,
        })
    }
}

/// Returns the conversation of the floor. Its last message makes the model call a tool that does not
/// exist until the last iteration, so no program runs.
fn turn_request() -> anyhow::Result<Vec<u8>> {
    let calls = ITERATIONS - 1;
    let last = format!("rawloop:{calls}:<tool_call>{{\"name\": \"none\"}}</tool_call>");
    let mut messages: Vec<Value> = (0..MESSAGES - 1)
        .map(|number| match number % 2 {
            0 => json!({"role": "user", "content": "say:1"}),
            _ => json!({"role": "assistant", "content": "alpha "}),
        })
        .collect();
    messages.push(json!({"role": "user", "content": last}));
    frame(&json!({"type": "run", "messages": messages, "max_iterations": ITERATIONS}))
}
