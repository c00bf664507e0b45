//! Serves one connection.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::conversation::Conversation;
use super::delivery::{self, Connection};
use super::directive::{self, Answer, Plan};
use super::http::{self, Request};
use super::reply::{RecordedRequest, Reply, ReplyKind, Wire};
use super::rules::refusal;
use super::{Shared, anthropic, gemini, lock, openai, responses};

const JSON: &str = "application/json";

/// Headers that are kept for assertions.
const RECORDED_HEADERS: [&str; 8] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "authorization",
    "content-type",
    "user-agent",
    "x-api-key",
    "x-goog-api-key",
];

/// Serves `stream` until it is closed. Errors end this connection only.
pub(super) async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    // Otherwise the kernel joins the pieces of `split`.
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Ok(Some(request)) = http::read_request(&mut stream, &mut buffer).await {
        let _guard = InProgress::enter(&shared);
        let outcome = {
            let (mut reader, mut writer) = stream.split();
            tokio::select! {
                outcome = respond(&mut writer, request, &shared) => outcome,
                () = peer_closed(&mut reader, &mut buffer) => return,
            }
        };
        match outcome {
            Ok(After::KeepOpen) => {}
            Ok(After::Close) => {
                let _ = stream.shutdown().await;
                return;
            }
            Ok(After::Reset) => {
                let _ = stream.set_zero_linger();
                return;
            }
            Err(_) => return,
        }
    }
}

enum After {
    KeepOpen,
    Close,
    Reset,
}

impl From<Connection> for After {
    fn from(connection: Connection) -> Self {
        match connection {
            Connection::KeepOpen => Self::KeepOpen,
            Connection::Close => Self::Close,
        }
    }
}

/// Counts a response while it is in progress.
struct InProgress<'a>(&'a Shared);

impl<'a> InProgress<'a> {
    fn enter(shared: &'a Shared) -> Self {
        shared.in_progress.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.in_progress.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Buffers what the peer sends; returns when it closes the connection.
async fn peer_closed(reader: &mut ReadHalf<'_>, buffer: &mut Vec<u8>) {
    while matches!(reader.read_buf(buffer).await, Ok(count) if count > 0) {}
}

async fn respond(
    writer: &mut WriteHalf<'_>,
    request: Request,
    shared: &Shared,
) -> io::Result<After> {
    let wire = match request.path.as_str() {
        path if shared.is_unknown(path) => {
            let text = http::whole(404, "text/plain", "404 page not found", &[]);
            writer.write_all(&text).await?;
            return Ok(After::KeepOpen);
        }
        path if path.ends_with("/chat/completions") => Wire::OpenAi,
        path if path.ends_with("/messages") => Wire::Anthropic,
        path if path.ends_with("/responses") => Wire::OpenAiResponses,
        path if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") => {
            Wire::Gemini
        }
        _ => {
            writer.write_all(&side_route(&request, shared)).await?;
            return Ok(After::KeepOpen);
        }
    };
    shared.answered.fetch_add(1, Ordering::Relaxed);
    let body: Value = match serde_json::from_slice(&request.body) {
        Ok(body) => body,
        Err(error) => {
            let answer = invalid_request(&format!("bad json: {error}"));
            writer.write_all(&answer).await?;
            return Ok(After::KeepOpen);
        }
    };
    let streams = body["stream"] == true || request.path.ends_with(":streamGenerateContent");
    let mut headers = request.headers;
    headers.retain(|name, _| RECORDED_HEADERS.contains(&name.as_str()));
    shared.record(RecordedRequest {
        wire,
        path: request.path,
        query: request.query,
        headers,
        body: body.clone(),
    });
    if let Some(message) = refusal(wire, &body).filter(|_| shared.strict) {
        let text = error_body(wire, &message);
        writer
            .write_all(&http::whole(400, JSON, &text, &[]))
            .await?;
        return Ok(After::KeepOpen);
    }
    answer(writer, wire, streams, &body, shared).await
}

fn error_body(wire: Wire, message: &str) -> String {
    match wire {
        Wire::OpenAi | Wire::OpenAiResponses => openai::error_body(400, message),
        Wire::Anthropic => anthropic::error_body(message),
        Wire::Gemini => gemini::error_body(400, message),
    }
}

/// Responds to a recorded request, as the script or its directive says.
async fn answer(
    writer: &mut WriteHalf<'_>,
    wire: Wire,
    streams: bool,
    body: &Value,
    shared: &Shared,
) -> io::Result<After> {
    let mut seen = Conversation::of(wire, body);
    let planned = match shared
        .script
        .as_ref()
        .map(|script| lock(script).pop_front())
    {
        None => directive::plan(&seen, &seen.directive, shared),
        Some(Some(Reply(ReplyKind::Directive(text)))) => {
            seen.turns = 0;
            directive::plan(&seen, &text, shared)
        }
        Some(Some(Reply(ReplyKind::Status { status, body }))) => {
            let answer = http::whole(status, JSON, &body, &directive::short_wait(status));
            writer.write_all(&answer).await?;
            return Ok(After::KeepOpen);
        }
        Some(Some(Reply(ReplyKind::EventStream(body)))) => {
            return Ok(delivery::event_stream(writer, &body).await?.into());
        }
        Some(None) => Ok(Plan::from(Answer::Status {
            status: 500,
            message: "script exhausted".to_owned(),
            headers: directive::short_wait(500),
        })),
    };
    match planned {
        Ok(plan) => carry_out(writer, wire, streams, body, &seen, plan, shared).await,
        Err(bad) => {
            let answer = invalid_request(&format!("model server: bad directive: {}", bad.0));
            writer.write_all(&answer).await?;
            Ok(After::KeepOpen)
        }
    }
}

async fn carry_out(
    writer: &mut WriteHalf<'_>,
    wire: Wire,
    streams: bool,
    body: &Value,
    seen: &Conversation,
    plan: Plan,
    shared: &Shared,
) -> io::Result<After> {
    let Plan { transport, answer } = plan;
    wait(transport.before_headers).await;
    let whole = match answer {
        Answer::Hang => {
            delivery::hang().await;
            return Ok(After::Close);
        }
        Answer::Reset => return Ok(After::Reset),
        Answer::Flood(size) => return Ok(delivery::flood(writer, wire, size).await?.into()),
        Answer::Completion(completion) if streams => {
            let streamed =
                delivery::stream(writer, wire, body, seen, completion, &transport, shared);
            return Ok(streamed.await?.into());
        }
        Answer::Completion(completion) => {
            tokio::time::sleep(delivery::collected_delay(&completion)).await;
            let text = match wire {
                Wire::OpenAi => openai::whole(body, seen, &completion),
                Wire::Anthropic => anthropic::whole(body, seen, &completion),
                Wire::OpenAiResponses => responses::whole(body, seen, &completion),
                Wire::Gemini => gemini::whole(seen, &completion),
            };
            http::whole(200, JSON, &text, &[])
        }
        Answer::Status {
            status,
            message,
            headers,
        } => {
            let text = match wire {
                Wire::OpenAi | Wire::OpenAiResponses => openai::error_body(status, &message),
                Wire::Anthropic => anthropic::error_body(&message),
                Wire::Gemini => gemini::error_body(status, &message),
            };
            http::whole(status, JSON, &text, &headers)
        }
        Answer::ContextOverflow => {
            let text = match wire {
                Wire::OpenAi | Wire::OpenAiResponses => openai::overflow_body(),
                Wire::Anthropic => anthropic::overflow_body(),
                Wire::Gemini => gemini::overflow_body(),
            };
            http::whole(400, JSON, &text, &[])
        }
    };
    writer.write_all(&whole).await?;
    Ok(After::KeepOpen)
}

/// Waits. The runtime's timers have millisecond resolution, so a fraction is waited for in a thread.
async fn wait(time: Duration) {
    if time.subsec_nanos().is_multiple_of(1_000_000) {
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
        return;
    }
    // Fails only when the server is being shut down.
    let _ = tokio::task::spawn_blocking(move || std::thread::sleep(time)).await;
}

/// Responds to requests other than model calls.
fn side_route(request: &Request, shared: &Shared) -> Vec<u8> {
    let body = match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/v1/models" | "/models") => {
            let ids = ["gpt-4o", "gpt-5", "claude-sonnet-4-5", "fake-model"];
            let models = ids.map(|id| {
                json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "fake"})
            });
            json!({"object": "list", "data": models, "has_more": false})
        }
        ("GET", "/healthz") => return http::whole(200, "text/plain", "ok", &[]),
        ("GET", "/_stats") => json!({"requests": shared.answered.load(Ordering::Relaxed)}),
        ("POST", "/_control") => {
            shared.reset();
            json!({"ok": true})
        }
        (_, path) => {
            let error = json!({"error": {"message": format!("no such route {path}")}});
            return http::whole(404, JSON, &error.to_string(), &[]);
        }
    };
    http::whole(200, JSON, &body.to_string(), &[])
}

fn invalid_request(message: &str) -> Vec<u8> {
    let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
    http::whole(400, JSON, &error.to_string(), &[])
}
