//! The bus against a real NATS server.

mod calls;
mod claims;
mod failures;
mod processes;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use testkit::nats::Nats;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zino::bus::{Bus, Duplex, DuplexService};
use zot_conversation::BoxFuture;

use worker::{connect, options};

/// Sends back every frame, and the request first.
struct Echo;

impl DuplexService for Echo {
    fn name(&self) -> String {
        "agent.echo".to_owned()
    }

    fn capacity(&self) -> usize {
        2
    }

    fn open(&self, request: Bytes, mut duplex: Duplex) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            duplex.send(request).await.unwrap();
            while let Ok(Some(frame)) = duplex.next().await {
                duplex.send(frame).await.unwrap();
            }
            duplex.finish().await.unwrap();
        })
    }
}

/// Serves [`Echo`] until it is dropped.
struct Serving {
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Serving {
    async fn begin(bus: &Bus, service: impl DuplexService) -> Self {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let serving = bus.serve_duplex(Arc::new(service), options(), stop.clone());
        tasks.spawn(async move { serving.await.unwrap() });
        let serving = Self { stop, tasks };
        while bus.instances(Duration::ZERO).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        serving
    }

    async fn end(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

#[tokio::test]
async fn frames_travel_in_both_directions_in_order() {
    let nats = Nats::start();
    let (server, client) = (
        connect(&nats, "agent").await,
        connect(&nats, "client").await,
    );
    let serving = Serving::begin(&server, Echo).await;
    let mut duplex = client
        .open("agent.echo", Bytes::from("hello"))
        .await
        .unwrap();
    assert_eq!(duplex.instance(), server.instance());
    assert_eq!(duplex.next().await.unwrap().unwrap(), "hello");
    let (mut sender, mut receiver) = duplex.split();
    let sending = async {
        for batch in 0..100 {
            let frames = (0..10).map(|frame| Bytes::from(format!("{}", batch * 10 + frame)));
            sender.send_all(frames.collect()).await.unwrap();
        }
        sender.finish().await.unwrap();
    };
    let receiving = async {
        for number in 0..1000 {
            let frame = receiver.next().await.unwrap().unwrap();
            assert_eq!(frame, number.to_string());
        }
        assert_eq!(receiver.next().await.unwrap(), None);
    };
    tokio::join!(sending, receiving);
    serving.end().await;
}
