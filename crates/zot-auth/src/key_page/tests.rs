use std::cell::RefCell;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{KeyPage, KeyPageError, MAX_KEY_ATTEMPTS};

/// Sends `head` (without the last empty line) and `body`; returns the whole response.
async fn send(port: u16, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

struct Visit {
    port: u16,
    path: String,
}

impl Visit {
    fn to(page: &KeyPage) -> Self {
        let url = page.url();
        let rest = url.strip_prefix("http://127.0.0.1:").unwrap();
        let (port, path) = rest.split_once('/').unwrap();
        Self {
            port: port.parse().unwrap(),
            path: format!("/{path}"),
        }
    }

    async fn get(&self, path: &str, host: &str) -> String {
        send(
            self.port,
            &format!("GET {path} HTTP/1.1\r\nhost: {host}"),
            "",
        )
        .await
    }

    async fn post(&self, body: &str, more: &str) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        let head = format!("POST {} HTTP/1.1\r\nhost: {host}{more}", self.path);
        send(self.port, &head, body).await
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future);
}

#[test]
fn the_page_asks_until_a_key_is_accepted() {
    block_on(async {
        let page = KeyPage::open(vec!["a".to_owned(), "b<".to_owned()]).unwrap();
        let visit = Visit::to(&page);
        let seen = RefCell::new(Vec::new());
        let take = async |provider: &str, key: &str| {
            seen.borrow_mut()
                .push((provider.to_owned(), key.to_owned()));
            match key {
                "sk good+" => Ok("kept".to_owned()),
                _ => Err("refused <b>".to_owned()),
            }
        };
        let visitor = async {
            let form = visit.get(&visit.path, &visit.host()).await;
            assert!(form.starts_with("HTTP/1.1 200"), "{form}");
            assert!(form.contains("<option>b&lt;</option>"), "{form}");
            assert!(form.contains("default-src 'none'"), "{form}");
            assert!(form.contains("Cache-Control: no-store"), "{form}");
            assert!(
                !form.contains("<script") && !form.contains("src="),
                "{form}"
            );
            let again = visit.post("provider=b%3C&key=bad", "").await;
            assert!(again.contains("refused &lt;b&gt;"), "{again}");
            let nobody = visit.post("provider=x&key=k", "").await;
            assert!(nobody.contains("Choose a provider"), "{nobody}");
            let done = visit.post("provider=a&key=+sk%20good%2B", "").await;
            assert!(done.contains("kept"), "{done}");
        };
        let (outcome, ()) = tokio::join!(page.wait(take), visitor);
        outcome.unwrap();
        let expected = [("b<", "bad"), ("a", "sk good+")];
        let expected = expected.map(|(provider, key)| (provider.to_owned(), key.to_owned()));
        assert_eq!(*seen.borrow(), expected);
        assert!(
            TcpStream::connect(("127.0.0.1", visit.port)).await.is_err(),
            "closed after use"
        );
    });
}

#[test]
fn other_paths_hosts_and_origins_are_refused() {
    block_on(async {
        let page = KeyPage::open(vec!["a".to_owned()]).unwrap();
        let visit = Visit::to(&page);
        let visitor = async {
            for path in [
                "/",
                "/favicon.ico",
                "/AAAA",
                &visit.path[..visit.path.len() - 1],
            ] {
                let answer = visit.get(path, &visit.host()).await;
                assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
            }
            for host in ["evil.example", "127.0.0.1", "127.0.0.1:1", ""] {
                let answer = visit.get(&visit.path, host).await;
                assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
            }
            let foreign = visit.post("key=k", "\r\norigin: http://evil.example").await;
            assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
            // An idle connection does not block others.
            let _silent = TcpStream::connect(("127.0.0.1", visit.port)).await.unwrap();
            let own = format!("\r\norigin: http://localhost:{}", visit.port);
            let taken = visit.post("key=k", &own).await;
            assert!(taken.contains("kept"), "{taken}");
        };
        let take = async |_: &str, _: &str| Ok("kept".to_owned());
        let (outcome, ()) = tokio::join!(page.wait(take), visitor);
        outcome.unwrap();
    });
}

#[test]
fn guessing_ends() {
    block_on(async {
        let page = KeyPage::open(vec!["a".to_owned()]).unwrap();
        let visit = Visit::to(&page);
        let visitor = async {
            for _ in 0..MAX_KEY_ATTEMPTS {
                visit.post("key=k", "").await;
            }
        };
        let take = async |_: &str, _: &str| Err("no".to_owned());
        let (outcome, ()) = tokio::join!(page.wait(take), visitor);
        assert!(matches!(outcome, Err(KeyPageError::TooManyAttempts)));
    });
}
