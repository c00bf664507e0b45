use super::*;

/// `user:p@ss`, as an address and as a header hold it.
const USER: (&str, &str) = ("user:p%40ss", "Basic dXNlcjpwQHNz");

#[tokio::test]
async fn plain_requests_are_handed_to_the_proxy_whole() {
    let (listener, port) = listen().await;
    let proxy = format!("http://{}@127.0.0.1:{port}", USER.0);
    let client = client(
        &format!("http://{FAR_HOST}:8080/v1"),
        &[("HTTP_PROXY", &proxy)],
    );
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let first = answer(&mut stream, "one").await;
        // The connection to the proxy is used again.
        let second = answer(&mut stream, "two").await;
        (first, second)
    };
    let asked = async { (ask(&client).await.unwrap(), ask(&client).await.unwrap()) };
    let (said, (first, second)) = tokio::join!(asked, serve);
    assert_eq!(said, ("one".to_owned(), "two".to_owned()));
    assert_eq!(first, second);
    let target = format!("POST http://{FAR_HOST}:8080/v1/chat/completions HTTP/1.1\r\n");
    assert!(first.starts_with(&target), "{first}");
    assert!(
        first.contains(&format!("host: {FAR_HOST}:8080\r\n")),
        "{first}"
    );
    assert!(
        first.contains(&format!("proxy-authorization: {}\r\n", USER.1)),
        "{first}"
    );
}

#[tokio::test]
async fn encrypted_requests_go_through_a_tunnel() {
    let authority = Authority::new();
    let ca = authority.file().display().to_string();
    let (proxy_listener, proxy_port) = listen().await;
    let (listener, port) = listen().await;
    let proxy = format!("http://{}@127.0.0.1:{proxy_port}", USER.0);
    let variables = [("https_proxy", proxy.as_str()), ("ZOT_EXTRA_CA_CERTS", &ca)];
    let client = client(&format!("https://{FAR_HOST}/v1"), &variables);
    let tunnel = async {
        let (mut stream, _) = proxy_listener.accept().await.unwrap();
        open_tunnel(&mut stream, port).await
    };
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = authority.acceptor(FAR_HOST).accept(stream).await.unwrap();
        let first = answer(&mut stream, "one").await;
        answer(&mut stream, "two").await;
        first
    };
    let asked = async {
        let said = (ask(&client).await.unwrap(), ask(&client).await.unwrap());
        drop(client);
        said
    };
    let (said, asked_of_proxy, head) = tokio::join!(asked, tunnel, serve);
    assert_eq!(said, ("one".to_owned(), "two".to_owned()));
    assert!(asked_of_proxy.starts_with(&format!("CONNECT {FAR_HOST}:443 HTTP/1.1\r\n")));
    assert!(asked_of_proxy.contains(&format!("Proxy-Authorization: {}\r\n", USER.1)));
    assert!(!asked_of_proxy.contains("sk-network-key"));
    // The server is spoken to as if there were no proxy.
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(!head.contains("proxy"), "{head}");
}

#[tokio::test]
async fn the_way_to_the_proxy_may_be_encrypted_too() {
    let authority = Authority::new();
    let ca = authority.file().display().to_string();
    let (proxy_listener, proxy_port) = listen().await;
    let (listener, port) = listen().await;
    let proxy = format!("https://localhost:{proxy_port}");
    let variables = [("ALL_PROXY", proxy.as_str()), ("SSL_CERT_FILE", &ca)];
    let client = client(&format!("https://{FAR_HOST}:8443/v1"), &variables);
    let tunnel = async {
        let (stream, _) = proxy_listener.accept().await.unwrap();
        let mut stream = authority
            .acceptor("localhost")
            .accept(stream)
            .await
            .unwrap();
        open_tunnel(&mut stream, port).await
    };
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = authority.acceptor(FAR_HOST).accept(stream).await.unwrap();
        answer(&mut stream, "hidden").await
    };
    let asked = async {
        let said = ask(&client).await.unwrap();
        drop(client);
        said
    };
    let (said, asked_of_proxy, _) = tokio::join!(asked, tunnel, serve);
    assert_eq!(said, "hidden");
    assert!(asked_of_proxy.starts_with(&format!("CONNECT {FAR_HOST}:8443 HTTP/1.1\r\n")));
    assert!(!asked_of_proxy.contains("Proxy-Authorization"));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let (listener, port) = listen().await;
    let proxy = format!("http://{}@127.0.0.1:{port}", USER.0);
    let client = client(
        &format!("https://{FAR_HOST}/v1"),
        &[("HTTPS_PROXY", &proxy)],
    );
    let refuse = async {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream
                .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                .await
                .unwrap();
        }
    };
    let error = tokio::select! {
        outcome = ask(&client) => outcome.unwrap_err(),
        () = refuse => unreachable!(),
    };
    let text = error.to_string();
    assert!(
        text.contains(&format!("proxy http://127.0.0.1:{port}: ")),
        "{text}"
    );
    assert!(text.contains("authorization required"), "{text}");
    for secret in [USER.0, USER.1, "p@ss"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_never_gone_around() {
    let (listener, port) = listen().await;
    let base_url = format!("http://127.0.0.2.nip.invalid:{port}/v1");
    let client = client(
        &base_url,
        &[("http_proxy", "socks5://secret:word@127.0.0.1:1")],
    );
    let error = ask(&client).await.unwrap_err().to_string();
    assert!(error.contains("http_proxy names a socks5 proxy"), "{error}");
    assert!(!error.contains("secret"), "{error}");
    drop(listener);
}

#[tokio::test]
async fn excluded_and_loopback_hosts_are_reached_directly() {
    let (listener, port) = listen().await;
    // Nobody listens where the proxy would be.
    let variables = [("ALL_PROXY", "http://127.0.0.1:1")];
    let client = client(&format!("http://localhost:{port}/v1"), &variables);
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, "near").await
    };
    let (said, head) = tokio::join!(ask(&client), serve);
    assert_eq!(said.unwrap(), "near");
    assert!(head.starts_with("POST /v1/"), "{head}");
}
