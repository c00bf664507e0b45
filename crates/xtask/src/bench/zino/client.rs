//! A blocking client with one connection per request.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use zot_wire::write_frame;

use super::super::samples::Samples;

pub(super) const HEADER_BYTES: usize = 4;

const READ_BYTES: usize = 256 * 1024;

/// The warm-up rounds, as a fraction of the measured ones.
const WARM_UP_PART: usize = 10;

/// Encodes a request for the wire.
pub(super) fn frame(request: &Value) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, request)?;
    Ok(bytes)
}

/// Sends requests one after the other.
pub(super) struct Client<'a> {
    socket: &'a Path,
    buffer: Vec<u8>,
}

impl<'a> Client<'a> {
    pub(super) fn new(socket: &'a Path) -> Self {
        Self {
            socket,
            buffer: vec![0; READ_BYTES],
        }
    }

    /// Sends a request and returns the first frame of the response.
    pub(super) fn ask(&mut self, request: &[u8]) -> anyhow::Result<&[u8]> {
        let mut stream = self.begin(request)?;
        let mut count = 0;
        loop {
            let more = stream.read(&mut self.buffer[count..])?;
            ensure!(more > 0, "the answer ended early");
            count += more;
            if let Some(length) = announced(&self.buffer[..count])
                && length <= count
            {
                let answer = &self.buffer[HEADER_BYTES..length];
                refuse_errors(answer)?;
                return Ok(&self.buffer[HEADER_BYTES..length]);
            }
            if count == self.buffer.len() {
                self.buffer.resize(2 * count, 0);
            }
        }
    }

    /// Sends a request and returns the response as JSON.
    pub(super) fn value(&mut self, request: &Value) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(self.ask(&frame(request)?)?)?)
    }

    /// Sends a request and reads the response; returns the number of its frames, and the last.
    pub(super) fn drain(&mut self, request: &[u8]) -> anyhow::Result<(usize, Vec<u8>)> {
        let mut stream = self.begin(request)?;
        let mut answer = Vec::new();
        loop {
            match stream.read(&mut self.buffer)? {
                0 => break,
                count => answer.extend_from_slice(&self.buffer[..count]),
            }
        }
        let (mut frames, mut last) = (0, &[][..]);
        let mut rest = answer.as_slice();
        while let Some(length) = announced(rest) {
            ensure!(length <= rest.len(), "the answer ended early");
            let (whole, tail) = rest.split_at(length);
            (frames, last, rest) = (frames + 1, &whole[HEADER_BYTES..], tail);
        }
        refuse_errors(last)?;
        Ok((frames, last.to_vec()))
    }

    /// Returns how long one request took.
    pub(super) fn time(&mut self, request: &[u8]) -> anyhow::Result<Duration> {
        let start = Instant::now();
        self.ask(request)?;
        Ok(start.elapsed())
    }

    /// Returns how long each of `count` requests took, after some to warm up. Requests are numbered
    /// across calls.
    pub(super) fn sample(
        &mut self,
        count: usize,
        mut request: impl FnMut(usize) -> anyhow::Result<Vec<u8>>,
    ) -> anyhow::Result<Samples> {
        let warm_up = count.div_ceil(WARM_UP_PART);
        let mut samples = Samples::default();
        for number in 0..warm_up + count {
            let time = self.time(&request(number)?)?;
            if number >= warm_up {
                samples.push(time);
            }
        }
        Ok(samples)
    }

    fn begin(&self, request: &[u8]) -> anyhow::Result<UnixStream> {
        let mut stream = UnixStream::connect(self.socket)
            .with_context(|| format!("cannot connect to {}", self.socket.display()))?;
        stream.write_all(request)?;
        Ok(stream)
    }
}

/// Returns the length of the frame at the beginning of `bytes`, including its header.
pub(super) fn announced(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    Some(HEADER_BYTES + u32::from_be_bytes(*header) as usize)
}

/// Fails on an error response, which would be misleadingly fast.
pub(super) fn refuse_errors(answer: &[u8]) -> anyhow::Result<()> {
    const ERROR: &[u8] = b"\"type\":\"error\"";
    let beginning = &answer[..answer.len().min(4096)];
    if beginning.windows(ERROR.len()).any(|part| part == ERROR) {
        bail!("answered with {}", String::from_utf8_lossy(beginning));
    }
    Ok(())
}
