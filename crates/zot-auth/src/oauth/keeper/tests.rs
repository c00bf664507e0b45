use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use super::TokenKeeper;
use crate::{AuthFile, OAuthClient, OAuthError, TokenAnswer, TokenTransport, Tokens};

/// A provider that numbers its tokens and counts requests.
struct Provider {
    asked: AtomicUsize,
    answer: fn(usize) -> Result<TokenAnswer, String>,
}

impl TokenTransport for Arc<Provider> {
    fn post_form<'a>(
        &'a self,
        _: &'a str,
        form: String,
    ) -> Pin<Box<dyn Future<Output = Result<TokenAnswer, String>> + Send + 'a>> {
        Box::pin(async move {
            assert!(form.contains("grant_type=refresh_token"), "{form}");
            assert!(form.contains("client_id=zot-test"), "{form}");
            let count = self.asked.fetch_add(1, Ordering::SeqCst);
            // Long enough for the other requests to arrive.
            tokio::time::sleep(Duration::from_millis(20)).await;
            (self.answer)(count)
        })
    }
}

fn renews(count: usize) -> Result<TokenAnswer, String> {
    let body = format!(r#"{{"access_token":"new{count}","expires_in":3600}}"#);
    Ok((200, body.into_bytes()))
}

fn client() -> OAuthClient {
    OAuthClient {
        client_id: "zot-test".to_owned(),
        client_secret: None,
        authorize_url: None,
        token_url: "http://127.0.0.1/token".to_owned(),
        device_url: None,
        scopes: Vec::new(),
        parameters: Vec::new(),
        redirect_port: 0,
        redirect_path: "/callback".to_owned(),
    }
}

struct Setting {
    _directory: tempfile::TempDir,
    file: AuthFile,
    provider: Arc<Provider>,
    tokens: Tokens,
}

impl Setting {
    fn new(lasts: Duration, answer: fn(usize) -> Result<TokenAnswer, String>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = AuthFile::new(directory.path().join("auth.json"));
        let tokens = Tokens::new("old", Some("refresh"), Some(SystemTime::now() + lasts));
        file.put_login("company", &tokens).unwrap();
        let asked = AtomicUsize::new(0);
        Self {
            _directory: directory,
            file,
            provider: Arc::new(Provider { asked, answer }),
            tokens,
        }
    }

    fn keeper(&self) -> TokenKeeper {
        let transport = Box::new(Arc::clone(&self.provider));
        let (file, tokens) = (self.file.clone(), self.tokens.clone());
        TokenKeeper::new("company", client(), file, transport, tokens)
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

#[test]
fn concurrent_callers_renew_a_login_once() {
    let setting = Setting::new(Duration::from_secs(60), renews);
    block_on(async {
        let keepers: Vec<TokenKeeper> = (0..4).map(|_| setting.keeper()).collect();
        let mut tasks = tokio::task::JoinSet::new();
        for keeper in keepers {
            tasks.spawn(async move {
                let first = keeper.fresh().await.unwrap().access().to_owned();
                (first, keeper.fresh().await.unwrap().access().to_owned())
            });
        }
        while let Some(got) = tasks.join_next().await {
            assert_eq!(got.unwrap(), ("new0".to_owned(), "new0".to_owned()));
        }
    });
    assert_eq!(setting.provider.asked.load(Ordering::SeqCst), 1);
    let stored = setting.file.login("company").unwrap().unwrap();
    assert_eq!(
        (stored.access(), stored.refresh()),
        ("new0", Some("refresh"))
    );
}

#[test]
fn a_login_that_is_still_valid_is_not_renewed() {
    let setting = Setting::new(Duration::from_secs(3600), renews);
    assert_eq!(block_on(setting.keeper().fresh()).unwrap().access(), "old");
    assert_eq!(setting.provider.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn an_unreachable_provider_matters_only_after_expiry() {
    let away = |_| Err("no route".to_owned());
    let soon = Setting::new(Duration::from_secs(60), away);
    assert_eq!(block_on(soon.keeper().fresh()).unwrap().access(), "old");
    let over = Setting::new(Duration::ZERO, away);
    let error = block_on(over.keeper().fresh()).unwrap_err();
    assert!(matches!(error, OAuthError::Unreachable { .. }));
}

#[test]
fn a_refusal_and_a_logout_report_what_to_do() {
    let refuses = |_| Ok((400, br#"{"error":"invalid_grant"}"#.to_vec()));
    let refused = Setting::new(Duration::ZERO, refuses);
    let error = block_on(refused.keeper().fresh()).unwrap_err().to_string();
    assert!(
        error.contains("invalid_grant") && error.contains("zot login company"),
        "{error}"
    );
    let gone = Setting::new(Duration::ZERO, renews);
    gone.file.remove("company").unwrap();
    let error = block_on(gone.keeper().fresh()).unwrap_err();
    assert!(matches!(error, OAuthError::LoggedOut { .. }));
}
