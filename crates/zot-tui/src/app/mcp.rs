//! MCP servers: `/mcp`, the question about a project's servers, and what the footer says about them.

mod project;
mod view;

use super::action::Handled;
use super::{App, Choices, Context, Effect, Key, McpEffect, PickerKind};

pub(crate) use project::{ProjectAnswer, ProjectServers};
pub(super) use view::{footer, project_frame};

#[derive(Debug, Default)]
pub(crate) struct Mcp {
    pub(crate) servers: Vec<McpServer>,
    /// Asks about the servers of the project; covers everything else.
    pub(crate) project: Option<ProjectServers>,
    /// The server whose actions are listed.
    chosen: String,
}

/// A server as the chat shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    pub(crate) state: McpState,
    /// Whether it is reached over HTTP, so that it may want a login.
    pub(crate) is_remote: bool,
    pub(crate) tools: usize,
    pub(crate) prompts: usize,
    pub(crate) resources: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum McpState {
    Disabled,
    Starting,
    Ready,
    NeedsLogin,
    Restarting(String),
    Failed(String),
}

/// What is new about the servers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum McpInput {
    /// Their states, and what prompts can mention of them: `server:uri`, title.
    Servers {
        servers: Vec<McpServer>,
        resources: Vec<(String, String)>,
    },
    /// The project has servers that the user has not been asked about.
    ProjectFound(ProjectServers),
    /// The answer about them was carried out.
    ProjectSettled,
}

impl McpServer {
    /// Describes the state in a few words.
    pub(crate) fn describe(&self) -> String {
        match &self.state {
            McpState::Disabled => "disabled".to_owned(),
            McpState::Starting => "starting".to_owned(),
            McpState::NeedsLogin => "wants a login".to_owned(),
            McpState::Restarting(reason) => format!("restarting: {reason}"),
            McpState::Failed(reason) => format!("failed: {reason}"),
            McpState::Ready => {
                let counts = [
                    (self.tools, "tool"),
                    (self.prompts, "prompt"),
                    (self.resources, "resource"),
                ];
                let counts = counts.iter().filter(|(count, _)| *count > 0);
                let counts: Vec<String> = counts
                    .map(|(count, what)| match count {
                        1 => format!("1 {what}"),
                        count => format!("{count} {what}s"),
                    })
                    .collect();
                match counts.is_empty() {
                    true => "ready".to_owned(),
                    false => format!("ready · {}", counts.join(", ")),
                }
            }
        }
    }

    /// Returns whether it has started, or needs the user.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(
            self.state,
            McpState::Ready | McpState::NeedsLogin | McpState::Failed(_)
        )
    }

    fn is_enabled(&self) -> bool {
        self.state != McpState::Disabled
    }
}

impl Mcp {
    fn find(&self, name: &str) -> Option<&McpServer> {
        self.servers.iter().find(|server| server.name == name)
    }

    fn choices(&self) -> Choices {
        let servers = self.servers.iter();
        servers
            .map(|server| (server.name.clone(), server.describe()))
            .collect()
    }

    /// Returns what can be done with the chosen server.
    fn actions(&self) -> Choices {
        let Some(server) = self.find(&self.chosen) else {
            return Choices::default();
        };
        let mut actions = Vec::new();
        if server.state == McpState::NeedsLogin {
            actions.push(("login", "sign in, in a browser"));
        }
        if server.is_enabled() {
            actions.push(("tools", "list its tools, prompts and resources"));
            actions.push(("restart", "end it and start it again"));
            actions.push(("log", "show the end of its log"));
            actions.push(("disable", "do not start it any more (saved)"));
        } else {
            actions.push(("enable", "start it, now and from now on (saved)"));
        }
        if server.is_remote && server.state != McpState::NeedsLogin {
            actions.push(("login", "sign in again, in a browser"));
            actions.push(("logout", "forget the login"));
        }
        actions.into_iter().collect()
    }

    /// Handles a key while the user is asked about the project's servers.
    pub(super) fn press(&mut self, context: &Context, key: &Key) -> Handled {
        match &mut self.project {
            Some(project) => project.press(context, key),
            None => Handled::No,
        }
    }
}

/// Runs `/mcp`.
pub(super) fn command(app: &mut App, arguments: &str) -> Vec<Effect> {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    match words.as_slice() {
        [] => offer_servers(app),
        ["project"] => app.when_idle(McpEffect::AskAboutProject),
        [verb] if is_verb(verb) => app.remark(format!("/mcp {verb} takes the name of a server")),
        [name] => match app.mcp.find(name) {
            Some(_) => offer_actions(app, name),
            None => unknown(app, name),
        },
        [verb, name] if is_verb(verb) => match app.mcp.find(name) {
            Some(_) => act(app, verb, name),
            None => unknown(app, name),
        },
        _ => app.remark("/mcp [VERB] NAME: tools, restart, log, enable, disable, login, logout"),
    }
}

fn is_verb(word: &str) -> bool {
    let verbs = [
        "tools", "restart", "log", "enable", "disable", "login", "logout",
    ];
    verbs.contains(&word)
}

fn unknown(app: &mut App, name: &str) -> Vec<Effect> {
    let known: Vec<&str> = app
        .mcp
        .servers
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let known = match known.is_empty() {
        true => "there are none".to_owned(),
        false => known.join(", "),
    };
    app.remark(format!("unknown MCP server {name:?}: {known}"))
}

fn offer_servers(app: &mut App) -> Vec<Effect> {
    if app.mcp.servers.is_empty() {
        // The outside knows of servers that were not started.
        return vec![McpEffect::DescribeNone.into()];
    }
    app.offer(PickerKind::Servers, app.mcp.choices())
}

/// Offers what can be done with a server.
pub(super) fn offer_actions(app: &mut App, name: &str) -> Vec<Effect> {
    app.mcp.chosen = name.to_owned();
    app.picker.close();
    app.offer(PickerKind::ServerActions, app.mcp.actions())
}

/// Does what was chosen with the server it was chosen for.
pub(super) fn act_on_chosen(app: &mut App, verb: &str) -> Vec<Effect> {
    let name = app.mcp.chosen.clone();
    act(app, verb, &name)
}

fn act(app: &mut App, verb: &str, name: &str) -> Vec<Effect> {
    let name = name.to_owned();
    match verb {
        "tools" => vec![McpEffect::ShowTools(name).into()],
        "restart" => vec![McpEffect::Restart(name).into()],
        "log" => vec![McpEffect::ShowLog(name).into()],
        "enable" => app.when_idle(McpEffect::Enable(name)),
        "disable" => app.when_idle(McpEffect::Disable(name)),
        "login" if app.context.is_plain => {
            app.remark(format!("run `zot mcp login {name}` in another terminal"))
        }
        "login" => vec![McpEffect::SignIn(name).into()],
        "logout" => vec![McpEffect::SignOut(name).into()],
        _ => Vec::new(),
    }
}

impl App {
    pub(super) fn handle_mcp(&mut self, input: McpInput) -> Vec<Effect> {
        match input {
            McpInput::Servers { servers, resources } => {
                self.mcp.servers = servers;
                self.picker.set_resources(resources.into_iter().collect());
                // The states in an open list are up to date.
                if self.picker.is_open(PickerKind::Servers) {
                    self.offer(PickerKind::Servers, self.mcp.choices());
                    self.picker.forget_preview();
                } else if self.picker.is_open(PickerKind::ServerActions) {
                    self.offer(PickerKind::ServerActions, self.mcp.actions());
                }
                Vec::new()
            }
            McpInput::ProjectFound(project) => {
                self.mcp.project = Some(project);
                Vec::new()
            }
            McpInput::ProjectSettled => {
                self.mcp.project = None;
                // What was sent meanwhile has waited for the servers.
                match self.status.is_working() {
                    true => Vec::new(),
                    false => match self.composer.next_queued() {
                        Some((prompt, draft)) => self.submit(prompt, draft),
                        None => Vec::new(),
                    },
                }
            }
        }
    }
}
