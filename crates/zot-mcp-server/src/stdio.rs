//! One client on standard input and output.

use std::io;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use zot_mcp::json_rpc::{INVALID_PARAMS, RequestId};
use zot_stdio::executor::IdleSignal;
use zot_stdio::signals::{EndSignal, EndSignals, FLUSH_TIME, SIGNAL_GRACE};
use zot_stdio::{Input, Output};
use zot_wire::{Line, MAX_WIRE_LINE_BYTES};

use crate::call::Exchange;
use crate::connection::Connection;
use crate::frame::{
    ClientMessage, Frame, INVALID_REQUEST, Malformed, decode, error, error_frame, response_frame,
};
use crate::jobs::{JobRunner, Jobs};
use crate::request::{Request, stated_version};
use crate::service::{Reply, Service};

/// How many messages of running requests wait for the output.
///
/// Limit: the requests wait until the client has read.
const OUTBOX_LENGTH: usize = 64;

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The input ended and every request was answered, or the client closed the output.
    Finished,
    /// A signal ended it.
    Signalled(EndSignal),
}

/// Serves the client on standard input and output until it is done.
pub async fn serve_stdio(service: Service, idle: IdleSignal) -> io::Result<Exit> {
    let mut signals = EndSignals::new()?;
    let (outbox, frames) = mpsc::channel(OUTBOX_LENGTH);
    let (jobs, runner) = JobRunner::new();
    let mut server = Server {
        service: Arc::new(service),
        connection: Arc::default(),
        output: Output::stdout(idle)?,
        outbox,
        frames,
        jobs,
        runner,
    };
    let mut input = Input::stdin()?;
    match server.run(&mut input, &mut signals).await {
        Ended::Done => {
            server.service.close().await;
            server.output.limit_waiting(Some(SIGNAL_GRACE));
            match server.output.flush().await {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                _ => Ok(Exit::Finished),
            }
        }
        Ended::Failed(error) => {
            server.wind_down(&mut signals).await;
            match error.kind() {
                // The client has gone, which is its way to end the server.
                io::ErrorKind::BrokenPipe => Ok(Exit::Finished),
                _ => Err(error),
            }
        }
        Ended::Signal(signal) => {
            server.wind_down(&mut signals).await;
            Ok(Exit::Signalled(signal))
        }
    }
}

struct Server {
    service: Arc<Service>,
    connection: Arc<Connection>,
    output: Output,
    outbox: mpsc::Sender<Frame>,
    frames: mpsc::Receiver<Frame>,
    jobs: Jobs,
    runner: JobRunner,
}

enum Ended {
    Done,
    Signal(EndSignal),
    Failed(io::Error),
}

impl Server {
    async fn run(&mut self, input: &mut Input, signals: &mut EndSignals) -> Ended {
        let mut has_closed = false;
        loop {
            while !self.output.is_overfull()
                && let Some(line) = input.take_line()
            {
                if let Err(error) = self.handle(&line) {
                    return Ended::Failed(error);
                }
            }
            if input.has_ended() && !has_closed {
                has_closed = true;
                // Nobody can answer any more; what runs without answers may finish.
                self.connection.close_questions();
                self.service.suspended.end_all();
            }
            if has_closed && self.runner.is_idle() && self.frames.is_empty() {
                return Ended::Done;
            }
            let takes_input = !input.has_ended() && !self.output.is_overfull();
            let takes_frames = !self.output.is_full();
            let step = tokio::select! {
                signal = signals.next() => return Ended::Signal(signal),
                Some(frame) = self.frames.recv(), if takes_frames => self.output.push(&frame),
                read = input.read_more(), if takes_input => read,
                () = self.runner.step() => Ok(()),
                written = self.output.drive() => written,
            };
            if let Err(error) = step {
                return Ended::Failed(error);
            }
        }
    }

    fn handle(&mut self, line: &Line<'_>) -> io::Result<()> {
        let message = match line {
            Line::Complete(line) if line.trim_ascii().is_empty() => return Ok(()),
            Line::Complete(line) => decode(line),
            Line::TooLong => Err(Malformed {
                id: None,
                error: error(
                    INVALID_REQUEST,
                    format!("the line is longer than {MAX_WIRE_LINE_BYTES} bytes"),
                ),
            }),
        };
        match message {
            Ok(ClientMessage::Request { id, method, params }) => self.request(id, method, params),
            Ok(ClientMessage::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.connection.cancel(&params);
                }
                Ok(())
            }
            Ok(ClientMessage::Response { id, result }) => {
                self.connection.answer(&id, result);
                Ok(())
            }
            Err(Malformed { id, error }) => self.output.push(&error_frame(id.as_ref(), &error)),
        }
    }

    fn request(
        &mut self,
        id: RequestId,
        method: String,
        params: Map<String, Value>,
    ) -> io::Result<()> {
        let is_modern = stated_version(&params).is_some();
        if method == "initialize" && !is_modern {
            let result = self.service.initialize(&params).map(|(result, abilities)| {
                self.connection.set_legacy(abilities);
                result
            });
            return self.output.push(&response_frame(&id, result));
        }
        let request = match (is_modern, self.connection.legacy()) {
            (false, Some(abilities)) => Ok(Request::legacy(method, params, abilities)),
            // The one request that may come before `initialize`.
            (false, None) if method == "ping" => {
                Ok(Request::legacy(method, params, Default::default()))
            }
            _ => Request::modern(method, params),
        };
        let request = match request {
            Ok(request) => request,
            Err(error) => return self.output.push(&error_frame(Some(&id), &error)),
        };
        let cancel = match self.connection.begin(&id) {
            Ok(cancel) => cancel,
            Err(refused) => {
                let error = error(INVALID_PARAMS, refused.to_string());
                return self.output.push(&error_frame(Some(&id), &error));
            }
        };
        let call = match self.service.reply(&request) {
            Reply::Now(result) => {
                self.connection.end(&id);
                return self.output.push(&response_frame(&id, result));
            }
            Reply::Call(call) => call,
        };
        let exchange = Exchange {
            era: request.era,
            abilities: request.abilities,
            progress_token: request.progress_token,
            outbox: self.outbox.clone(),
            connection: Arc::clone(&self.connection),
            cancel,
        };
        let (service, jobs) = (Arc::clone(&self.service), self.jobs.clone());
        self.runner.add(async move {
            let result = service.run(call, &exchange, &jobs).await;
            exchange.connection.end(&id);
            if let Some(result) = result {
                // The client that has gone is noticed by the loop.
                let _ = exchange.outbox.send(response_frame(&id, result)).await;
            }
        });
        Ok(())
    }

    /// Ends everything that runs in good order, unless another signal comes first.
    async fn wind_down(&mut self, signals: &mut EndSignals) {
        self.connection.close_questions();
        self.connection.cancel_all();
        self.service.suspended.end_all();
        // Requests that have room for their messages can end.
        self.frames.close();
        let work = async {
            self.runner.finish(SIGNAL_GRACE).await;
            self.service.close().await;
            let _ = tokio::time::timeout(FLUSH_TIME, self.output.flush()).await;
        };
        tokio::select! {
            () = work => {}
            _ = signals.next() => {}
        }
    }
}
