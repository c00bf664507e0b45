use std::collections::BTreeMap;
use std::sync::mpsc;

use serde_json::{Value, json};
use testkit::{HttpReply, HttpScript};
use zot_provider::HttpClient;

use super::*;
use crate::json_rpc::RpcError;
use crate::transport::Inbox;

struct Silent;

impl Inbox for Silent {
    fn notification(&self, _method: &str, _params: Option<&RawValue>) {}

    fn request<'a>(
        &'a self,
        method: &'a str,
        _params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, RpcError>> {
        Box::pin(async move { Ok(raw(json!({"asked": method}))) })
    }
}

fn raw(value: Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(&value).unwrap()
}

/// Answers every request on the stream with its method, after asking something itself.
fn server(endpoint: &'static str) -> HttpScript {
    let (sender, pieces) = mpsc::channel::<Vec<u8>>();
    let (sender, pieces) = (Mutex::new(Some(sender)), Mutex::new(Some(pieces)));
    HttpScript::start(move |request| {
        let mut stream = sender.lock().unwrap();
        let send =
            |text: String| drop(stream.as_ref().map(|stream| stream.send(text.into_bytes())));
        if request.method == "GET" {
            send(format!("event: endpoint\ndata: {endpoint}\n\n"));
            return HttpReply::streamed(pieces.lock().unwrap().take().unwrap());
        }
        let message = request.json();
        match message["method"].as_str() {
            Some("refuse") => return HttpReply::new(500, "no"),
            Some("end") => *stream = None,
            Some(method) => {
                let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"});
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": method});
                send(format!(
                    "data: {ask}\n\ndata: nonsense\n\nevent: message\ndata: {answer}\n\n"
                ));
            }
            None => {}
        }
        HttpReply::new(202, "Accepted")
    })
}

async fn connect(server: &HttpScript) -> Result<SseTransport, CallError> {
    SseTransport::connect(HttpSettings {
        http: HttpClient::new(),
        url: &format!("{}/sse", server.origin()),
        headers: &BTreeMap::from([("x-own".to_owned(), "mine".to_owned())]),
        authorization: None,
        inbox: Arc::new(Silent),
    })
    .await
}

async fn call(transport: &SseTransport, method: &str) -> Result<String, CallError> {
    let (id, params) = (RequestId::Number(5), raw(json!({})));
    let result = transport.call(&id, method, &params, CallHints::default());
    result.await.map(|result| result.get().to_owned())
}

#[tokio::test]
async fn messages_are_posted_and_answered_on_the_stream() {
    let server = server("/messages?session=1");
    let transport = connect(&server).await.unwrap();
    assert_eq!(
        call(&transport, "tools/list").await.unwrap(),
        "\"tools/list\""
    );
    assert!(matches!(
        call(&transport, "refuse").await,
        Err(CallError::Status { status: 500, .. })
    ));
    while server.requests().len() < 4 {
        tokio::task::yield_now().await;
    }
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.header("x-own") == Some("mine"))
    );
    assert!(
        requests[1..]
            .iter()
            .all(|request| request.target == "/messages?session=1")
    );
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"asked": "roots/list"}});
    assert!(requests.iter().any(|request| request.json() == answer));

    let ended = call(&transport, "end").await;
    assert!(matches!(ended, Err(CallError::Disconnected(_))));
    assert_eq!(transport.closed().await, "the server closed the stream");
    assert!(matches!(
        call(&transport, "late").await,
        Err(CallError::Disconnected(_))
    ));
    assert!(transport.shared.waiting.is_empty());
    transport.close().await;
}

#[tokio::test]
async fn messages_go_to_no_other_host() {
    let error = connect(&server("http://elsewhere.test/messages")).await;
    assert!(error.is_err_and(|error| error.to_string().contains("another host")));
}
