//! Commands about sessions and credentials.

use crate::app::{App, Choices, Effect, LogAction, PickerKind, SESSION};

pub(super) fn export(_: &mut App, file: &str) -> Vec<Effect> {
    vec![Effect::Export(file.to_owned())]
}

pub(super) fn session(app: &mut App, arguments: &str) -> Vec<Effect> {
    let parts = arguments.split_once(char::is_whitespace);
    let (verb, rest) = parts.unwrap_or((arguments, ""));
    let rest = rest.trim();
    match verb {
        "export" => export(app, rest),
        "tree" => vec![zot(&["sessions", "tree"])],
        "import" if !rest.is_empty() => vec![Effect::Import(rest.to_owned())],
        "fork" if rest.is_empty() => app.when_idle(Effect::ListForkPoints),
        "fork" => match rest.parse::<usize>().ok().and_then(|at| at.checked_sub(1)) {
            Some(before) => app.when_idle(Effect::Fork {
                before: Some(before),
            }),
            None => app.note("/session fork takes the number of a prompt: /session fork 2"),
        },
        "" => vec![zot(&["sessions", "show", "--summary", SESSION])],
        _ => app.note("/session export [FILE] · fork [N] · tree · import FILE"),
    }
}

pub(super) fn undo(app: &mut App, arguments: &str) -> Vec<Effect> {
    if !arguments.split_whitespace().all(is_undo_word) {
        return app.remark("/undo takes a number of prompts: /undo 2");
    }
    let mut words = vec!["sessions", "undo", "--session", SESSION];
    words.extend(arguments.split_whitespace());
    app.when_idle(zot(&words))
}

/// A number of prompts, or `--force` to undo later changes too.
fn is_undo_word(word: &str) -> bool {
    word == "--force" || word.parse::<u32>().is_ok_and(|count| count > 0)
}

pub(crate) fn log_in(app: &mut App, arguments: &str) -> Vec<Effect> {
    // The terminal itself would show what is typed.
    if app.context.is_plain {
        return app.remark("this terminal would show the key: leave, and use `zot login PROVIDER`");
    }
    log(app, LogAction::In, "login", arguments)
}

pub(crate) fn log_out(app: &mut App, arguments: &str) -> Vec<Effect> {
    log(app, LogAction::Out, "logout", arguments)
}

fn log(app: &mut App, action: LogAction, verb: &str, arguments: &str) -> Vec<Effect> {
    if arguments.is_empty() {
        return app.when_idle(Effect::ListProviders(action));
    }
    let mut words = vec![verb];
    words.extend(arguments.split_whitespace());
    app.when_idle(Effect::LogIn(owned(&words)))
}

fn zot(words: &[&str]) -> Effect {
    Effect::Zot(owned(words))
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Offers where a copy can end. With one prompt there is nothing to choose.
pub(crate) fn offer_fork_points(app: &mut App, prompts: Vec<String>) -> Vec<Effect> {
    if prompts.len() < 2 {
        return vec![Effect::Fork { before: None }];
    }
    let whole = "all  the whole conversation".to_owned();
    let points = std::iter::once(whole).chain(prompts);
    app.offer(PickerKind::ForkPoints, Choices::named(points))
}

/// Continues with a session that was just imported.
pub(crate) fn open_imported(app: &mut App, session: String) -> Vec<Effect> {
    if app.status.is_working() {
        return app
            .note("the session was imported; zot is working, so open it later with /sessions");
    }
    vec![Effect::Resume {
        session: Some(session),
    }]
}
