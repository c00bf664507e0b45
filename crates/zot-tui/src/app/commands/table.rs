//! The table of commands: completion, `/help`, suggestions and dispatch all read it.

use zot_sdk::ApprovalScope;

use super::Command;
use super::login::{log_in, log_out};
use super::sessions::{export, session, undo};
use super::settings::{change_approval, offer_settings, sandbox};
use crate::app::mcp;
use crate::app::{
    AgentEffect, App, Effect, ExtensionEffect, Prompt, Query, SessionEffect, SettingsEffect,
    TerminalEffect,
};

const KEYS: &str = "\
enter send, or queue while zot works · ctrl+s steer now · esc stop · ctrl+c twice leave
alt+up edit the last queued · alt+enter or \\ enter new line · up/down history · ctrl+r search it
ctrl+_ undo · alt+_ redo · ctrl+g $EDITOR · ctrl+o unfold · pgup scroll back, search · ctrl+l redraw
@ a file · / a command · !cmd run a command and attach its output (ctrl+x drops it)";

const fn command(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    action: fn(&mut App, &str) -> Vec<Effect>,
) -> Command {
    Command {
        name,
        alias: None,
        arguments,
        help,
        action,
    }
}

pub(super) static COMMANDS: [Command; 31] = [
    command("/help", "", "commands and keys", help),
    command("/model", "[NAME]", "choose another model", model),
    command(
        "/study",
        "[PATH]",
        "let zot read everything here, or a file or directory",
        study,
    ),
    command(
        "/compact",
        "",
        "summarise the conversation to make room",
        compact,
    ),
    command("/clear", "", "start a new conversation", clear),
    command(
        "/cost",
        "",
        "what the conversation cost, turn by turn",
        cost,
    ),
    command(
        "/context",
        "",
        "how much of the context is used, and by what",
        show_context,
    ),
    command(
        "/btw",
        "QUESTION",
        "ask a side question outside the conversation",
        ask_aside,
    ),
    command(
        "/jump",
        "",
        "show an earlier part of the conversation again",
        |_, _| vec![Effect::Query(Query::Prompts)],
    ),
    command(
        "/sessions",
        "",
        "continue an earlier conversation",
        |app, _| app.when_idle(Effect::Session(SessionEffect::List)),
    ),
    command(
        "/session",
        "[VERB]",
        "this conversation: export, fork, tree, import",
        session,
    ),
    command(
        "/export",
        "[FILE]",
        "write this conversation to a file: NAME.html, .md",
        export,
    ),
    command(
        "/undo",
        "[COUNT]",
        "restore files that write and edit changed",
        undo,
    ),
    command("/login", "[NAME]", "log in to a provider", log_in),
    command("/logout", "[NAME]", "log out of a provider", log_out),
    command("/skills", "", "list the skills and use one", |_, _| {
        vec![Effect::Query(Query::Skills)]
    }),
    command("/tools", "", "list the tools", |_, _| {
        vec![Effect::Query(Query::Tools)]
    }),
    command(
        "/mcp",
        "[NAME]",
        "MCP servers: state, tools, sign in, restart, enable",
        mcp::command,
    ),
    command(
        "/confirm",
        "[TOOLS]",
        "whether zot asks before tools run: on, off, or for some",
        change_approval,
    ),
    command("/yolo", "", "stop asking before tools run", stop_asking),
    command(
        "/settings",
        "",
        "settings that can be changed while zot runs",
        |app, _| offer_settings(app),
    ),
    command(
        "/sandbox",
        "[LEVEL]",
        "what zot's tools may do: off, workspace or read-only",
        sandbox,
    ),
    command(
        "/jail",
        "",
        "confine zot's tools to the working directory",
        |_, _| vec![Effect::Agent(AgentEffect::Jail)],
    ),
    command("/unjail", "", "lift the confinement of /jail", |_, _| {
        vec![Effect::Agent(AgentEffect::Unjail)]
    }),
    command("/copy", "", "copy the last answer to the clipboard", copy),
    command("/theme", "[NAME]", "light, dark, or one of your own", theme),
    command("/reload-ext", "", "restart the extensions", |app, _| {
        app.when_idle(Effect::Extension(ExtensionEffect::Reload))
    }),
    command(
        "/fold",
        "",
        "fold or unfold long results (ctrl+o)",
        |app, _| {
            app.transcript.toggle_folding();
            Vec::new()
        },
    ),
    command(
        "/transcript",
        "",
        "read and search this conversation (pgup)",
        |app, _| {
            app.open_pager(None);
            Vec::new()
        },
    ),
    command("/editor", "", "write in $EDITOR (ctrl+g)", |_, _| {
        vec![Effect::Terminal(TerminalEffect::OpenEditor(String::new()))]
    }),
    Command {
        alias: Some("/quit"),
        ..command("/exit", "", "leave", |_, _| vec![Effect::Quit])
    },
];

fn help(app: &mut App, _: &str) -> Vec<Effect> {
    app.note(format!("{KEYS}{}", app.commands.help()))
}

fn model(_: &mut App, name: &str) -> Vec<Effect> {
    vec![match name {
        "" => Effect::Query(Query::Models),
        name => Effect::Agent(AgentEffect::SetModel(name.to_owned())),
    }]
}

/// Asks the model to read everything, so that later prompts find it in the conversation.
fn study(app: &mut App, path: &str) -> Vec<Effect> {
    let what = match path {
        "" => "the working directory".to_owned(),
        path => format!("{path:?}"),
    };
    let text = format!(
        "Study {what} so that you know it before we work on it. If it is a directory, list its \
         files first, and leave out what version control ignores, dependencies, build output and \
         binary files. Read every other file in full with the read tool. Then say in a few \
         sentences what it is and how it is put together, and wait for what I ask next."
    );
    app.submit(Prompt::generated(text), None)
}

fn compact(app: &mut App, _: &str) -> Vec<Effect> {
    let effects = app.when_idle(Effect::Agent(AgentEffect::Compact));
    if !effects.is_empty() {
        app.status.begin_work(&app.context, "compacting");
    }
    effects
}

fn clear(app: &mut App, _: &str) -> Vec<Effect> {
    let effects = app.when_idle(Effect::Agent(AgentEffect::Clear));
    if !effects.is_empty() {
        app.transcript.clear();
        app.composer.shell.forget();
        app.context.info.context_used = 0;
        app.note("a new conversation");
    }
    effects
}

fn cost(app: &mut App, _: &str) -> Vec<Effect> {
    let total_usd = app.context.info.cost_usd;
    app.note(app.status.spending.report(total_usd))
}

fn show_context(app: &mut App, _: &str) -> Vec<Effect> {
    let info = &app.context.info;
    let (used, window) = (info.context_used, info.context_window);
    let text = match window {
        _ if used == 0 && !app.transcript.last_answer().is_empty() => {
            "how much is used is known after the next answer".to_owned()
        }
        0 => format!("{used} tokens; the model's limit is unknown"),
        window => format!(
            "{used} of {window} tokens ({} %)",
            used.saturating_mul(100) / window
        ),
    };
    app.note(text);
    vec![Effect::Query(Query::Context)]
}

fn ask_aside(app: &mut App, question: &str) -> Vec<Effect> {
    if question.is_empty() {
        return app.remark("/btw takes a question");
    }
    if !app.transcript.begin_aside(question) {
        return app.remark("one side question at a time: esc cancels the first");
    }
    vec![Effect::Agent(AgentEffect::Aside(question.to_owned()))]
}

fn stop_asking(app: &mut App, _: &str) -> Vec<Effect> {
    match app.context.info.approval {
        ApprovalScope::Nothing => app.note("tools already run without asking"),
        _ => change_approval(app, "off"),
    }
}

fn copy(app: &mut App, _: &str) -> Vec<Effect> {
    match app.transcript.last_answer() {
        "" => app.note("no answer yet"),
        answer => vec![Effect::Terminal(TerminalEffect::Copy(answer.to_owned()))],
    }
}

fn theme(_: &mut App, name: &str) -> Vec<Effect> {
    vec![match name {
        "" => Effect::Query(Query::Themes),
        name => Effect::Settings(SettingsEffect::LoadTheme(name.to_owned())),
    }]
}
