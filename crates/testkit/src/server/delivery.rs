//! Sends a response: fast, slowly, in small pieces, or incompletely.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::conversation::Conversation;
use super::directive::{Completion, Ending, Transport, WORDS};
use super::reply::Wire;
use super::{Shared, anthropic, gemini, http, lock, openai, responses};

/// How many distinct `say:N` bodies are kept; a bench uses a few.
const KEPT_BLOBS: usize = 64;

/// After how many events the malformed line of `garbage` is sent.
const GARBAGE_AFTER: usize = 3;

/// The server-sent events of one response.
pub(super) struct Events {
    /// Sent one by one if the response is slow.
    pub(super) opening: Vec<String>,
    /// Sent together at the end.
    pub(super) tail: Vec<String>,
}

/// Whether the connection can take another request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Connection {
    KeepOpen,
    Close,
}

impl Completion {
    /// Returns the whole text of the response.
    pub(super) fn text(&self) -> String {
        let words = WORDS.iter().copied().cycle().take(self.say);
        words
            .chain(self.pieces.iter().map(String::as_str))
            .collect()
    }

    /// Turns `say` into ordinary pieces.
    fn spell_out(&mut self) {
        let words = WORDS.iter().cycle().take(std::mem::take(&mut self.say));
        self.pieces.extend(words.map(|word| (*word).to_owned()));
    }
}

/// Streams `completion` to `writer`.
pub(super) async fn stream(
    writer: &mut (impl AsyncWrite + Unpin),
    wire: Wire,
    body: &Value,
    seen: &Conversation,
    mut completion: Completion,
    transport: &Transport,
    shared: &Shared,
) -> io::Result<Connection> {
    let plain = completion.thinking.is_none()
        && completion.ending == Ending::Complete
        && completion.between_events.is_zero()
        && transport.segment.is_none()
        && transport.cut_at.is_none()
        && !transport.odd_lines;
    if !plain {
        completion.spell_out();
    }
    let events = match wire {
        Wire::OpenAi => openai::events(body, seen, &completion),
        Wire::Anthropic => anthropic::events(body, seen, &completion),
        Wire::OpenAiResponses => responses::events(body, seen, &completion),
        Wire::Gemini => gemini::events(seen, &completion),
    };
    if plain {
        let mut out = http::STREAM_HEAD.to_vec();
        for event in &events.opening {
            http::push_chunk(&mut out, event.as_bytes());
        }
        if completion.say > 0 {
            let model = body["model"].as_str().unwrap_or("?");
            writer.write_all(&out).await?;
            out.clear();
            let blob = say_blob(shared, wire, model, completion.say);
            writer.write_all(&blob).await?;
        }
        for event in &events.tail {
            http::push_chunk(&mut out, event.as_bytes());
        }
        out.extend_from_slice(http::LAST_CHUNK);
        writer.write_all(&out).await?;
        return Ok(Connection::KeepOpen);
    }
    let mut out = Paced {
        writer,
        transport,
        sent: 0,
    };
    out.writer.write_all(http::STREAM_HEAD).await?;
    for (index, event) in events.opening.iter().enumerate() {
        if out.event(event).await? == Connection::Close {
            return Ok(Connection::Close);
        }
        if completion.ending == Ending::Garbage && index + 1 == GARBAGE_AFTER {
            out.event("data: {this is not json\n\n").await?;
        }
        if !completion.between_events.is_zero() {
            tokio::time::sleep(completion.between_events).await;
        }
    }
    match completion.ending {
        Ending::Silence => hang().await,
        Ending::Cut => return Ok(Connection::Close),
        Ending::Complete | Ending::Garbage | Ending::ErrorEvent => {}
    }
    for event in &events.tail {
        if out.event(event).await? == Connection::Close {
            return Ok(Connection::Close);
        }
    }
    out.bytes(http::LAST_CHUNK).await?;
    Ok(Connection::KeepOpen)
}

/// Sends `body` as the body of an event stream.
pub(super) async fn event_stream(
    writer: &mut (impl AsyncWrite + Unpin),
    body: &[u8],
) -> io::Result<Connection> {
    let mut out = http::STREAM_HEAD.to_vec();
    http::push_chunk(&mut out, body);
    out.extend_from_slice(http::LAST_CHUNK);
    writer.write_all(&out).await?;
    Ok(Connection::KeepOpen)
}

/// Sends one text delta of `size` bytes that never ends, then closes the connection.
pub(super) async fn flood(
    writer: &mut (impl AsyncWrite + Unpin),
    wire: Wire,
    size: usize,
) -> io::Result<Connection> {
    let start = match wire {
        Wire::OpenAi => openai::endless_delta(),
        Wire::Anthropic => anthropic::endless_delta(),
        Wire::OpenAiResponses => responses::endless_delta(),
        Wire::Gemini => gemini::endless_delta(),
    };
    let mut out = http::STREAM_HEAD.to_vec();
    http::push_chunk(&mut out, start.as_bytes());
    writer.write_all(&out).await?;
    let mut block = Vec::new();
    http::push_chunk(&mut block, &[b'x'; 64 << 10]);
    for _ in 0..size.div_ceil(64 << 10) {
        writer.write_all(&block).await?;
    }
    Ok(Connection::Close)
}

/// Waits until the client closes the connection.
pub(super) async fn hang() {
    std::future::pending().await
}

/// A writer that applies the transport options to the body.
struct Paced<'a, W> {
    writer: &'a mut W,
    transport: &'a Transport,
    /// Body bytes so far, without the chunk framing.
    sent: usize,
}

impl<W: AsyncWrite + Unpin> Paced<'_, W> {
    async fn event(&mut self, event: &str) -> io::Result<Connection> {
        let event = if self.transport.odd_lines {
            with_odd_lines(event)
        } else {
            event.to_owned()
        };
        let mut payload = event.as_bytes();
        let mut connection = Connection::KeepOpen;
        if let Some(limit) = self.transport.cut_at
            && self.sent + payload.len() > limit
        {
            payload = &payload[..limit - self.sent];
            connection = Connection::Close;
        }
        self.sent += payload.len();
        let mut chunk = Vec::new();
        http::push_chunk(&mut chunk, payload);
        self.bytes(&chunk).await?;
        Ok(connection)
    }

    async fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(segment) = self.transport.segment else {
            return self.writer.write_all(bytes).await;
        };
        for piece in bytes.chunks(segment) {
            self.writer.write_all(piece).await?;
            self.writer.flush().await?;
            // Lets the client run, so that it sees most pieces separately.
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

/// Returns the same event in a legal but unusual form: CRLF, a comment, extra fields, no space after the
/// colon, and JSON on two data lines.
fn with_odd_lines(event: &str) -> String {
    let mut odd = String::from(": comment\r\nid: 7\r\nretry: 10\r\n");
    for line in event.trim_end_matches('\n').split('\n') {
        match line.strip_prefix("data: {") {
            Some(rest) => odd.push_str(&format!("data:{{\r\ndata: {rest}")),
            None => odd.push_str(line),
        }
        odd.push_str("\r\n");
    }
    odd.push_str("\r\n");
    odd
}

/// Returns the chunks of `say:count`, built once.
fn say_blob(shared: &Shared, wire: Wire, model: &str, count: usize) -> Arc<[u8]> {
    let key = (wire, model.to_owned(), count);
    let mut blobs = lock(&shared.blobs);
    if let Some(blob) = blobs.get(&key) {
        return Arc::clone(blob);
    }
    let chunks = WORDS.map(|word| {
        let event = match wire {
            Wire::OpenAi => openai::text_delta(model, word),
            Wire::Anthropic => anthropic::text_delta(word),
            Wire::OpenAiResponses => responses::text_delta(word),
            Wire::Gemini => gemini::text_delta(word),
        };
        let mut chunk = Vec::new();
        http::push_chunk(&mut chunk, event.as_bytes());
        chunk
    });
    let mut blob = Vec::new();
    for chunk in chunks.iter().cycle().take(count) {
        blob.extend_from_slice(chunk);
    }
    if blobs.len() == KEPT_BLOBS {
        blobs.clear();
    }
    let blob: Arc<[u8]> = blob.into();
    blobs.insert(key, Arc::clone(&blob));
    blob
}

/// Returns the duration of a slow stream, for a response that is not streamed.
pub(super) fn collected_delay(completion: &Completion) -> Duration {
    completion.between_events * completion.pieces.len().max(1) as u32
}
