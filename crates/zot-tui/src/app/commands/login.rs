//! `/login` and `/logout`.

use zot_sdk::credentials::KeyProbe;
use zot_sdk::login::LoginPreference;

use crate::app::{App, Effect, LogAction, LoginEffect, LoginRequest};

const KEY_IN_PROMPT: &str =
    "do not type a key into the prompt, where it can be seen: /login PROVIDER asks for it";

pub(crate) fn log_in(app: &mut App, arguments: &str) -> Vec<Effect> {
    // A plain terminal echoes what is typed.
    if app.context.is_plain {
        return app.remark("this terminal would show the key: exit, then run `zot login PROVIDER`");
    }
    if arguments.is_empty() {
        return app.when_idle(LoginEffect::ListProviders(LogAction::In));
    }
    match request(arguments) {
        Ok(request) => app.when_idle(LoginEffect::LogIn(request)),
        Err(problem) => app.error(problem),
    }
}

/// The error does not repeat what was typed: it may be a key.
fn request(arguments: &str) -> Result<LoginRequest, &'static str> {
    let words = arguments.split_whitespace();
    let (flags, names): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with("--"));
    let [provider] = names.as_slice() else {
        return Err(KEY_IN_PROMPT);
    };
    let mut request = LoginRequest {
        provider: (*provider).to_owned(),
        preference: LoginPreference::Usual,
        probe: KeyProbe::Asked,
        opens_browser: true,
    };
    for flag in flags {
        match flag {
            "--device" => request.preference = LoginPreference::Device,
            // The chat asks for the key itself.
            "--key" | "--stdin" => request.preference = LoginPreference::Key,
            "--no-probe" => request.probe = KeyProbe::Skipped,
            "--no-browser" => request.opens_browser = false,
            _ => return Err("/login takes --device, --key, --no-probe and --no-browser"),
        }
    }
    Ok(request)
}

pub(crate) fn log_out(app: &mut App, arguments: &str) -> Vec<Effect> {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    match words.as_slice() {
        [] => app.when_idle(LoginEffect::ListProviders(LogAction::Out)),
        ["--all"] => app.when_idle(LoginEffect::LogOut { provider: None }),
        [provider] => app.when_idle(LoginEffect::LogOut {
            provider: Some((*provider).to_owned()),
        }),
        _ => app.note("/logout takes a provider, or --all"),
    }
}
