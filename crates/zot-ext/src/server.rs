//! Runs an extension: sends its introduction, answers requests, and ends it.

mod dispatcher;

use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;
use zot_wire::extension::ExtensionFrame;
use zot_wire::{Line, LineDecoder};

use crate::handler::{Handler, Outcome, guarded};
use crate::outbox::{Outgoing, encode, log, write_lines};
use crate::registry::Registry;
use crate::{Context, Error, Result};
use dispatcher::{Dispatcher, Flow};

/// What is read at once.
const READ_BYTES: usize = 64 * 1024;

/// How long handlers may run after the input ended without `shutdown`, so that a request piped into
/// an extension by hand is answered.
///
/// Limit: handlers are stopped; at `shutdown` they are stopped at once.
const END_OF_INPUT_GRACE: Duration = Duration::from_millis(250);

/// How long the shutdown handler may take. zot waits 2 s.
///
/// Limit: the shutdown handler is abandoned.
const SHUTDOWN_HANDLER_TIME: Duration = Duration::from_millis(1500);

/// How long ending may take in total, even if the host no longer reads.
///
/// Limit: the program exits although the host has not read everything.
const EXTENSION_ENDING_TIME: Duration = Duration::from_millis(1800);

/// Why the extension ends.
enum Ending {
    Shutdown,
    EndOfInput,
    ReadFailed(io::Error),
    /// The writer ended, which it does not do by itself unless it fails.
    Written(io::Result<()>),
}

pub(crate) async fn serve(
    registry: Registry,
    context: Context,
    outgoing: mpsc::Receiver<Outgoing>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> Result {
    let introduction = registry
        .introduction()
        .into_iter()
        .filter_map(encode)
        .flatten()
        .collect();
    let shutdown = registry.shutdown.clone();
    let mut dispatcher = Dispatcher::new(registry, context.clone());
    let mut writing = pin!(write_lines(output, outgoing, introduction));

    let ending = tokio::select! {
        // Reading is dropped only when the extension ends, between two reads; writing continues
        // below.
        ending = read_frames(input, &mut dispatcher) => ending,
        written = &mut writing => Ending::Written(written),
    };

    let asked = matches!(ending, Ending::Shutdown);
    let silently = matches!(ending, Ending::EndOfInput);
    let closing = async {
        if silently {
            let _ = timeout(END_OF_INPUT_GRACE, dispatcher.finish()).await;
        }
        dispatcher.cancel().await;
        if let Some(handler) = shutdown {
            call_shutdown(&handler, &context).await;
        }
        if asked {
            context.outbox().answer(ExtensionFrame::ShutdownAck).await;
        }
        context.outbox().end().await;
    };
    if let Ending::Written(written) = ending {
        let _ = timeout(EXTENSION_ENDING_TIME, closing).await;
        return written.or_else(unless_host_is_gone);
    }
    let closed = timeout(EXTENSION_ENDING_TIME, async {
        tokio::join!(closing, writing).1
    })
    .await;
    if closed.is_err() {
        log("zot did not read the last frames");
    }
    match ending {
        Ending::ReadFailed(error) => Err(Error::Read(error)),
        _ => closed.unwrap_or(Ok(())).or_else(unless_host_is_gone),
    }
}

async fn read_frames(mut input: impl AsyncRead + Unpin, dispatcher: &mut Dispatcher) -> Ending {
    let mut decoder = LineDecoder::default();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        while let Some(line) = decoder.next_line() {
            if accept(line, dispatcher) == Flow::End {
                return Ending::Shutdown;
            }
        }
        match input.read(&mut buffer).await {
            Ok(0) => break,
            Ok(count) => decoder.feed(&buffer[..count]),
            Err(error) => return Ending::ReadFailed(error),
        }
    }
    let last = decoder.finish();
    match last.map(|line| accept(line, dispatcher)) {
        Some(Flow::End) => Ending::Shutdown,
        Some(Flow::Continue) | None => Ending::EndOfInput,
    }
}

fn accept(line: Line<'_>, dispatcher: &mut Dispatcher) -> Flow {
    match line {
        Line::Complete(line) => dispatcher.accept(line),
        Line::TooLong => {
            log("a line from zot was too long and is skipped");
            Flow::Continue
        }
    }
}

async fn call_shutdown(handler: &Handler<(), Outcome>, context: &Context) {
    let called = guarded(handler((), context.clone()));
    match timeout(SHUTDOWN_HANDLER_TIME, called).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error)) | Err(error)) => log(format_args!("the shutdown handler {error}")),
        Err(_) => log("the shutdown handler took too long and was abandoned"),
    }
}

/// Ignores the error of a host that closed its end.
fn unless_host_is_gone(error: io::Error) -> Result {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Error::Write(error)),
    }
}
