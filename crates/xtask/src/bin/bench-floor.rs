//! Does the minimum that any program has to do for what `cargo xtask bench` measures: the floors of its
//! table.
//!
//! Reads commands from standard input and answers each with one line. Blocking calls, no parsing,
//! nothing stored.

use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::thread;

const DONE: &[u8] = b"{\"type\":\"done\"}\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
const BUFFER: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_default();
    let mut model = Model {
        address,
        connection: None,
        request: None,
    };
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["ping"] => {}
            // exchange TIMES PATH MESSAGES DIRECTIVE
            ["exchange", times, path, messages, directive] => {
                for _ in 0..number(times)? {
                    model.exchange(path, number(messages)?, directive)?;
                }
            }
            ["spawn", times] => {
                for _ in 0..number(times)? {
                    Command::new("bash").args(["-c", "true"]).output()?;
                }
            }
            ["echo", path] => {
                let listener = UnixListener::bind(path)?;
                thread::spawn(move || echo(&listener));
            }
            ["write", bytes] => stdout.write_all(&vec![b'x'; number(bytes)?])?,
            _ => return Err(io::Error::other(format!("unknown command {line:?}"))),
        }
        stdout.write_all(DONE)?;
        stdout.flush()?;
    }
    Ok(())
}

/// Echoes one frame per connection until the process ends.
fn echo(listener: &UnixListener) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    for connection in listener.incoming() {
        // A failed client does not affect the others.
        let _ = return_frame(connection?, &mut buffer);
    }
    Ok(())
}

fn return_frame(mut connection: UnixStream, buffer: &mut [u8]) -> io::Result<()> {
    let mut count = 0;
    loop {
        match connection.read(&mut buffer[count..])? {
            0 => return Ok(()),
            more => count += more,
        }
        let header = buffer[..count].first_chunk::<4>();
        let length = header.map(|header| 4 + u32::from_be_bytes(*header) as usize);
        if length.is_some_and(|length| length <= count) {
            return connection.write_all(&buffer[..count]);
        }
    }
}

fn number(text: &str) -> io::Result<usize> {
    text.parse().map_err(io::Error::other)
}

/// A model server, called over one connection that stays open.
struct Model {
    address: String,
    connection: Option<TcpStream>,
    /// The last request, and the parameters it was built from.
    request: Option<(String, Vec<u8>)>,
}

impl Model {
    /// Calls the model and discards the response.
    fn exchange(&mut self, path: &str, messages: usize, directive: &str) -> io::Result<()> {
        let key = format!("{path} {messages} {directive}");
        if self
            .request
            .as_ref()
            .is_none_or(|(made_from, _)| *made_from != key)
        {
            let request = request(&self.address, path, messages, directive);
            self.request = Some((key, request));
        }
        if self.connection.is_none() {
            let connection = TcpStream::connect(&self.address)?;
            connection.set_nodelay(true)?;
            self.connection = Some(connection);
        }
        if let (Some(connection), Some((_, request))) = (&mut self.connection, &self.request) {
            connection.write_all(request)?;
            drain(connection)?;
        }
        Ok(())
    }
}

/// Returns a streaming request with a conversation of this many messages, of which the directive is the
/// last.
fn request(address: &str, path: &str, messages: usize, directive: &str) -> Vec<u8> {
    let mut body = String::from(
        "{\"model\":\"floor\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\
         \"max_tokens\":4096,\"messages\":[",
    );
    for index in 0..messages.saturating_sub(1) {
        body.push_str(match index % 2 {
            0 => "{\"role\":\"user\",\"content\":\"say:1\"},",
            _ => "{\"role\":\"assistant\",\"content\":\"alpha \"},",
        });
    }
    body.push_str(&format!(
        "{{\"role\":\"user\",\"content\":\"{directive}\"}}]}}"
    ));
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Reads until the last chunk of a chunked response.
fn drain(connection: &mut TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut tail = Vec::new();
    while tail != LAST_CHUNK {
        let count = connection.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        tail.extend_from_slice(&buffer[count.saturating_sub(LAST_CHUNK.len())..count]);
        let surplus = tail.len().saturating_sub(LAST_CHUNK.len());
        tail.drain(..surplus);
    }
    Ok(())
}
