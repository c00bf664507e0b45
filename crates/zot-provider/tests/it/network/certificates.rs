use super::*;

/// Asks a server that `authority` vouches for as `host`.
async fn ask_server(
    authority: &Authority,
    host: &str,
    variables: &[(&str, &str)],
) -> Result<String, ModelError> {
    let (listener, port) = listen().await;
    let client = client(&format!("https://localhost:{port}/v1"), variables);
    let acceptor = authority.acceptor(host);
    let serve = async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(mut stream) = acceptor.accept(stream).await {
                answer(&mut stream, "trusted").await;
            }
        }
    };
    tokio::select! {
        said = ask(&client) => said,
        () = serve => unreachable!(),
    }
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_when_its_file_is_named() {
    let authority = Authority::new();
    let file = authority.file().display().to_string();
    let directory = authority.directory.path().display().to_string();
    for variables in [
        [("SSL_CERT_FILE", file.as_str())],
        [("SSL_CERT_DIR", directory.as_str())],
        [("ZOT_EXTRA_CA_CERTS", file.as_str())],
    ] {
        let said = ask_server(&authority, "localhost", &variables).await;
        assert_eq!(said.unwrap(), "trusted", "{variables:?}");
    }
}

#[tokio::test]
async fn others_are_not_trusted() {
    let authority = Authority::new();
    let other = Authority::new().file().display().to_string();
    let unknown = ask_server(&authority, "localhost", &[]).await.unwrap_err();
    assert!(unknown.to_string().contains("UnknownIssuer"), "{unknown}");
    // The directory of the other authority is gone by now.
    let missing = [("ZOT_EXTRA_CA_CERTS", other.as_str())];
    let missing = ask_server(&authority, "localhost", &missing)
        .await
        .unwrap_err();
    assert!(
        missing.to_string().contains("ZOT_EXTRA_CA_CERTS"),
        "{missing}"
    );
    let file = authority.file().display().to_string();
    let wrong_name = [("ZOT_EXTRA_CA_CERTS", file.as_str())];
    let wrong = ask_server(&authority, "elsewhere.test", &wrong_name)
        .await
        .unwrap_err();
    assert!(wrong.to_string().contains("not valid for name"), "{wrong}");
}
