//! A client of services on the bus, for threads.

use std::path::Path;
use std::thread::JoinHandle;

use anyhow::Context as _;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use zino::bus::Bus;
use zino::config::Config;
use zino::logging::{Level, Log};
use zino::peer::{CallError, Peer};
use zot_wire::zino::daemon::{Request, Response};

use super::client::{Ending, Turn};

/// A connection to the bus, with a thread that keeps it alive.
pub(crate) struct BusClient {
    handle: Handle,
    bus: Bus,
    /// Ends the thread when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl BusClient {
    /// Connects as `zino cli` does, with the configuration in this directory.
    pub(crate) fn connect(directory: &Path) -> anyhow::Result<Self> {
        let config = Config::load(&directory.join("ZINO.toml"))?.config;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let bus = runtime.block_on(Bus::connect(
            &config,
            "client",
            Log::new("client", Level::Error),
        ))?;
        let bus = bus.context("the site has no bus")?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            // Both a message and a dropped sender mean stop.
            let _ = runtime.block_on(stopped);
        });
        Ok(Self {
            handle,
            bus,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Runs work with the connection.
    pub(crate) fn run<T>(&self, work: impl AsyncFnOnce(&Bus) -> T) -> T {
        self.handle.block_on(work(&self.bus))
    }

    /// Sends a message to any daemon and waits for the end of the response.
    pub(crate) fn turn(&self, turn: &Turn) -> Ending {
        let request = Request {
            message: turn.message.clone(),
            channel_id: Some(turn.channel.clone()),
            stream: true,
        };
        self.run(async |bus| {
            let peer = Peer::on_bus(bus, "daemon");
            let result = async {
                let mut call = peer.call(request).await?;
                while let Some(response) = call.next().await? {
                    if let Some(ending) = ending(response) {
                        return Ok(ending);
                    }
                }
                Err(CallError::EndedEarly)
            };
            match result.await {
                Ok(ending) => ending,
                // Nobody has begun to handle it.
                Err(error @ CallError::Unreachable(_)) => Ending::Failed {
                    code: None,
                    message: error.to_string(),
                },
                Err(_) => Ending::Lost,
            }
        })
    }
}

/// Returns how a turn ended, if this frame says so.
fn ending(response: Response) -> Option<Ending> {
    Some(match response {
        Response::Chunk(_) => return None,
        Response::Done { unsaved, .. } | Response::Response { unsaved, .. } => match unsaved {
            Some(reason) => Ending::Unsaved(reason),
            None => Ending::Saved,
        },
        Response::Error(failure) => Ending::Failed {
            code: failure.code.map(|code| code.name().to_owned()),
            message: failure.message.unwrap_or_default(),
        },
        Response::Other(other) => Ending::Failed {
            code: None,
            message: other.to_string(),
        },
    })
}

impl Drop for BusClient {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
