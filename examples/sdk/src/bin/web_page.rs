//! An agent behind a web page: the browser reads the events of `zot rpc` as server-sent events.
//!
//! ```sh
//! cargo run -p zot-example-sdk --bin web_page        # prints the address
//! ```
//!
//! Everybody who can reach the port can use the agent, so it listens on this machine only and the
//! agent has no tools that change anything.

use std::error::Error;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use zot_sdk::{Config, ModelChoice, Runtime, ToolSelection, wire};

const PAGE: &str = include_str!("web_page.html");
const MAX_REQUEST_LINE: usize = 8 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Arc::new(Runtime::new(Config {
        model: ModelChoice::provider("offline"),
        tools: ToolSelection::Only(vec!["read".to_owned()]).into(),
        ..Config::default()
    })?);
    let port: u16 = std::env::args().nth(1).map_or(Ok(0), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/", listener.local_addr()?);
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                let runtime = Arc::clone(&runtime);
                visits.spawn(async move {
                    // A browser that goes away is no error, and stops the agent: the stream is dropped.
                    let _ = answer(stream, &runtime).await;
                });
            }
            Some(_) = visits.join_next() => {}
        }
    }
}

async fn answer(mut stream: TcpStream, runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let mut line = String::new();
    let mut reader = BufReader::new(&mut stream);
    while !line.ends_with('\n') && line.len() < MAX_REQUEST_LINE {
        if reader.read_line(&mut line).await? == 0 {
            return Ok(());
        }
    }
    let path = line.split(' ').nth(1).unwrap_or("/");
    match path.split_once("?q=") {
        Some(("/ask", question)) => stream_events(&mut stream, runtime, &decoded(question)).await,
        _ => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            Ok(stream.write_all(PAGE.as_bytes()).await?)
        }
    }
}

async fn stream_events(
    stream: &mut TcpStream,
    runtime: &Runtime,
    question: &str,
) -> Result<(), Box<dyn Error>> {
    let Ok(mut events) = runtime.prompt(question, Vec::new()) else {
        let busy =
            "HTTP/1.1 409 Conflict\r\nConnection: close\r\n\r\nbusy: one question at a time\n";
        return Ok(stream.write_all(busy.as_bytes()).await?);
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    while let Some(event) = events.next().await {
        // What `zot rpc` writes. Some events are for programs in the same process only.
        let Some(event) = wire::event(event) else {
            continue;
        };
        let data = serde_json::to_string(&event)?;
        stream
            .write_all(format!("data: {data}\n\n").as_bytes())
            .await?;
    }
    Ok(())
}

/// Undoes the percent encoding of a query.
fn decoded(query: &str) -> String {
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let hex = match first {
            b'%' => behind
                .get(..2)
                .and_then(|hex| std::str::from_utf8(hex).ok()),
            _ => None,
        };
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(if first == b'+' { b' ' } else { first });
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
