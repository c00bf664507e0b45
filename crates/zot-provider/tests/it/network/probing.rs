use super::*;

use zot_provider::network::{Plan, ProbeStage, ProbeStep, probe};

async fn run(base_url: &str, variables: &[(&str, &str)]) -> Vec<ProbeStep> {
    let network = settings(variables);
    let plan = Plan::new(&endpoint(base_url), None, &network).unwrap();
    let http = HttpClient::with_network(Timeouts::default(), network);
    probe(&plan, &http).await
}

fn stages(steps: &[ProbeStep]) -> Vec<(ProbeStage, bool)> {
    let outcome = |step: &ProbeStep| (step.stage, step.outcome.is_ok());
    steps.iter().map(outcome).collect()
}

#[tokio::test]
async fn no_request_is_sent() {
    let authority = Authority::new();
    let file = authority.file().display().to_string();
    let (listener, port) = listen().await;
    let acceptor = authority.acceptor("localhost");
    let serve = async {
        // The first connection only shows that the server can be reached.
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        // The end may come without a farewell.
        let _ = stream.read_to_end(&mut received).await;
        received
    };
    let variables = [("ZOT_EXTRA_CA_CERTS", file.as_str())];
    let base_url = format!("https://localhost:{port}/v1");
    let (steps, received) = tokio::join!(run(&base_url, &variables), serve);
    assert_eq!(
        stages(&steps),
        [
            (ProbeStage::Lookup, true),
            (ProbeStage::Connect, true),
            (ProbeStage::Handshake, true)
        ],
        "{steps:?}"
    );
    assert!(received.is_empty(), "{received:?}");
}

#[tokio::test]
async fn the_first_failure_ends_it() {
    let steps = run("https://no-such-host.invalid/v1", &[]).await;
    assert_eq!(stages(&steps), [(ProbeStage::Lookup, false)]);
    let (listener, port) = listen().await;
    drop(listener);
    let steps = run(&format!("http://127.0.0.1:{port}/v1"), &[]).await;
    assert_eq!(
        stages(&steps),
        [(ProbeStage::Lookup, true), (ProbeStage::Connect, false)]
    );
}

#[tokio::test]
async fn an_untrusted_server_is_distinguished_from_one_that_is_away() {
    let authority = Authority::new();
    let (listener, port) = listen().await;
    let acceptor = authority.acceptor("localhost");
    let serve = async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let _ = acceptor.accept(stream).await;
        }
    };
    let base_url = format!("https://localhost:{port}/v1");
    let steps = tokio::select! {
        steps = run(&base_url, &[]) => steps,
        () = serve => unreachable!(),
    };
    let handshake = steps.last().unwrap();
    assert_eq!(handshake.stage, ProbeStage::Handshake);
    let problem = handshake.outcome.as_ref().unwrap_err();
    assert!(problem.contains("UnknownIssuer"), "{problem}");
}

#[tokio::test]
async fn with_a_proxy_only_the_proxy_is_contacted() {
    let (listener, port) = listen().await;
    let proxy = format!("http://127.0.0.1:{port}");
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        drop(stream);
    };
    let base_url = format!("http://{FAR_HOST}/v1");
    let variables = [("http_proxy", proxy.as_str())];
    let (steps, ()) = tokio::join!(run(&base_url, &variables), serve);
    assert_eq!(
        stages(&steps),
        [(ProbeStage::Lookup, true), (ProbeStage::Connect, true)]
    );
}
