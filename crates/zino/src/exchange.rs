//! Requests and responses of unit tests as they are on the wire.

use serde_json::Value;
use zot_wire::zino::{Frame, Request, Response};

use crate::peer::Peer;

/// Returns all frames of the response to `request`.
pub(crate) async fn exchange<R: Request>(peer: &Peer<R>, request: &Value) -> Vec<Value> {
    let frame = Frame::parse(request.to_string().as_bytes()).unwrap();
    let request = match R::read(frame) {
        Ok(request) => request,
        Err(error) => return vec![value(&R::Response::error(error.to_string()))],
    };
    let mut call = peer.call(request).await.unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = call.next().await.unwrap() {
        frames.push(value(&frame));
    }
    frames
}

fn value(response: &impl Response) -> Value {
    serde_json::to_value(response).unwrap()
}
