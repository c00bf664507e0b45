//! Commands about sessions.

use zot_sdk::sessions::IfChanged;

use crate::app::{App, Choices, Effect, PickerKind, SessionEffect};

pub(super) fn export(_: &mut App, file: &str) -> Vec<Effect> {
    vec![Effect::Session(SessionEffect::Export(file.to_owned()))]
}

pub(super) fn session(app: &mut App, arguments: &str) -> Vec<Effect> {
    let parts = arguments.split_once(char::is_whitespace);
    let (verb, rest) = parts.unwrap_or((arguments, ""));
    let rest = rest.trim();
    match verb {
        "export" => export(app, rest),
        "tree" => vec![SessionEffect::Tree.into()],
        "import" if !rest.is_empty() => {
            vec![Effect::Session(SessionEffect::Import(rest.to_owned()))]
        }
        "fork" if rest.is_empty() => app.when_idle(Effect::Session(SessionEffect::ListForkPoints)),
        "fork" => match rest.parse::<usize>().ok().and_then(|at| at.checked_sub(1)) {
            Some(before) => app.when_idle(Effect::Session(SessionEffect::Fork {
                before: Some(before),
            })),
            None => app.note("/session fork takes the number of a prompt: /session fork 2"),
        },
        "" => vec![SessionEffect::Describe.into()],
        _ => app.note("/session export [FILE] · fork [N] · tree · import FILE"),
    }
}

/// Runs `/undo`, which takes a number of prompts, and `--force` to overwrite later changes too.
pub(super) fn undo(app: &mut App, arguments: &str) -> Vec<Effect> {
    let (mut prompts, mut if_changed) = (1, IfChanged::Refuse);
    for word in arguments.split_whitespace() {
        match (word, word.parse::<u32>()) {
            ("--force", _) => if_changed = IfChanged::Overwrite,
            (_, Ok(count @ 1..)) => prompts = count as usize,
            _ => return app.remark("/undo takes a number of prompts: /undo 2"),
        }
    }
    app.when_idle(SessionEffect::Undo {
        prompts,
        if_changed,
    })
}

/// Offers the prompts before which a fork can end. With one prompt there is nothing to choose.
pub(crate) fn offer_fork_points(app: &mut App, prompts: Vec<String>) -> Vec<Effect> {
    if prompts.len() < 2 {
        return vec![Effect::Session(SessionEffect::Fork { before: None })];
    }
    let whole = "all  the whole conversation".to_owned();
    let points = std::iter::once(whole).chain(prompts);
    app.offer(PickerKind::ForkPoints, Choices::named(points))
}

/// Opens a session that was just imported.
pub(crate) fn open_imported(app: &mut App, session: String) -> Vec<Effect> {
    if app.status.is_working() {
        return app
            .note("the session was imported; zot is working, so open it later with /sessions");
    }
    vec![Effect::Session(SessionEffect::Resume {
        session: Some(session),
    })]
}
