//! Reading one request.

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// The most a request may have, its body included: a key and what a browser says about itself.
///
/// Limit: the request is dropped.
const MAX_LOOPBACK_REQUEST_BYTES: usize = 64 * 1024;

/// The parts of a request that are of use here.
pub(super) struct Head {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) host: String,
    pub(super) origin: Option<String>,
    pub(super) body: Vec<u8>,
}

/// `None` for anything that is not a request of a browser.
pub(super) async fn read(stream: &mut TcpStream) -> Option<Head> {
    let mut bytes = Vec::new();
    loop {
        if let Some(head) = parse(&bytes)? {
            return Some(head);
        }
        if bytes.len() > MAX_LOOPBACK_REQUEST_BYTES || stream.read_buf(&mut bytes).await.ok()? == 0
        {
            return None;
        }
    }
}

/// `Some(None)` while more has to come.
#[expect(clippy::option_option, reason = "nonsense and incomplete differ")]
fn parse(bytes: &[u8]) -> Option<Option<Head>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Some(None);
    };
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (mut host, mut origin, mut length) = (None, None, 0);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" if host.is_some() => return None,
            "host" => host = Some(value.to_owned()),
            "origin" => origin = Some(value.to_owned()),
            "content-length" => length = value.parse::<usize>().ok()?,
            "transfer-encoding" => return None,
            _ => {}
        }
    }
    if length > MAX_LOOPBACK_REQUEST_BYTES {
        return None;
    }
    let Some(body) = bytes.get(end + 4..end + 4 + length) else {
        return Some(None);
    };
    Some(Some(Head {
        method: method.to_owned(),
        target: target.to_owned(),
        host: host?,
        origin,
        body: body.to_vec(),
    }))
}
