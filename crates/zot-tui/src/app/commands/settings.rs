//! `/settings`, `/sandbox` and `/confirm`.

use zot_sdk::ApprovalScope;
use zot_sdk::sandbox::Level;

use crate::app::{AgentEffect, App, Choices, Effect, PickerKind, Query, SettingsEffect};

/// Offers the settings, each with its state.
pub(super) fn offer_settings(app: &mut App) -> Vec<Effect> {
    let info = &app.context.info;
    let switches = [
        (
            "confirm",
            info.approval != ApprovalScope::Nothing,
            "ask before tools run",
        ),
        (
            "jail",
            info.is_jailed,
            "confine tools to the working directory",
        ),
        (
            "unfold",
            app.transcript.is_unfolded,
            "show long results in full",
        ),
        (
            "keep_scrollback",
            app.transcript.keeps_scrollback,
            "leave the scrollback alone when the window's width changes (saved)",
        ),
    ];
    let switches = switches.map(|(name, is_on, description)| {
        let state = if is_on { "on" } else { "off" };
        (name.to_owned(), format!("{state:<3}  {description}"))
    });
    let lists = [
        ("sandbox", format!("{}  what tools may do", info.sandbox)),
        ("model", format!("{}  choose another", info.model)),
        ("theme", "choose the colours (saved)".to_owned()),
    ];
    let lists = lists.map(|(name, description)| (name.to_owned(), description));
    let choices: Choices = switches.into_iter().chain(lists).collect();
    app.offer(PickerKind::Settings, choices)
}

/// Changes the chosen setting and keeps the list open.
pub(crate) fn change_setting(app: &mut App, name: &str) -> Vec<Effect> {
    let effects = match name {
        "model" => return vec![Effect::Query(Query::Models)],
        "theme" => return vec![Effect::Query(Query::Themes)],
        "confirm" if app.context.info.approval == ApprovalScope::Nothing => {
            change_approval(app, "on")
        }
        "confirm" => change_approval(app, "off"),
        // The result arrives as a note.
        "jail" if app.context.info.is_jailed => return vec![Effect::Agent(AgentEffect::Unjail)],
        "jail" => return vec![Effect::Agent(AgentEffect::Jail)],
        "sandbox" => {
            let level = match app.context.info.sandbox {
                Level::Off => Level::Workspace,
                Level::Workspace => Level::ReadOnly,
                Level::ReadOnly => Level::Off,
            };
            return vec![Effect::Agent(AgentEffect::Sandbox(Some(level)))];
        }
        "unfold" => {
            app.transcript.toggle_folding();
            Vec::new()
        }
        "keep_scrollback" => {
            let keeps_scrollback = &mut app.transcript.keeps_scrollback;
            *keeps_scrollback = !*keeps_scrollback;
            vec![Effect::Settings(SettingsEffect::Save {
                name: "keep_scrollback",
                value: keeps_scrollback.to_string(),
            })]
        }
        _ => Vec::new(),
    };
    show_settings(app, name);
    effects
}

/// Shows the list again, with `name` selected.
pub(crate) fn show_settings(app: &mut App, name: &str) -> Vec<Effect> {
    offer_settings(app);
    app.picker.select(name);
    Vec::new()
}

/// Runs `/sandbox`, which shows or changes what the tools may do.
pub(super) fn sandbox(app: &mut App, level: &str) -> Vec<Effect> {
    match level.trim() {
        "" => vec![Effect::Agent(AgentEffect::Sandbox(None))],
        level => match level.parse() {
            Ok(level) => vec![Effect::Agent(AgentEffect::Sandbox(Some(level)))],
            Err(unknown) => app.note(unknown.to_string()),
        },
    }
}

/// Runs `/confirm`, which shows or changes the tools that need approval.
pub(super) fn change_approval(app: &mut App, tools: &str) -> Vec<Effect> {
    let names: Vec<String> = tools
        .split([',', ' '])
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    let scope = match names.as_slice() {
        [] => return app.note(app.approvals.describe(&app.context.info.approval)),
        [word] if word.eq_ignore_ascii_case("on") => ApprovalScope::AllTools,
        [word] if word.eq_ignore_ascii_case("off") => ApprovalScope::Nothing,
        _ => ApprovalScope::Tools(names),
    };
    vec![Effect::Agent(AgentEffect::SetApproval(scope))]
}
