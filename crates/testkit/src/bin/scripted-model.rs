//! Runs the scripted model server until it is killed: `scripted-model [--port N]`.

use std::io::Write;

use anyhow::{Context, bail};
use testkit::ModelServer;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut port = 0;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => {
                let value = arguments.next().context("--port needs a number")?;
                port = value.parse().context("--port needs a number")?;
            }
            other => bail!("unknown argument {other:?}; usage: scripted-model [--port N]"),
        }
    }
    let server = ModelServer::start_on(port)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on 127.0.0.1:{}", server.port())?;
    stdout.flush()?;
    loop {
        std::thread::park();
    }
}
