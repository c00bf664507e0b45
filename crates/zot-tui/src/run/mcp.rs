//! `/mcp` and the servers of a project.

mod login;
mod project;
mod report;

use std::io;
use std::sync::Arc;

use zot_sdk::mcp::{Address, Decision, Enabled, ServerState, ServerStatus, Switched, switch};

use super::{Chat, Ending, extensions};
use crate::app::{Input, McpEffect, McpInput, McpServer, McpState, ProjectAnswer};

pub(super) use login::{ServerLogin, next_server_login};

/// The most resources that are offered for completion.
///
/// Limit: further resources can be mentioned, but are not offered.
const MAX_OFFERED_RESOURCES: usize = 5_000;

impl Chat {
    pub(super) fn perform_for_servers(&mut self, effect: McpEffect) -> Vec<Input> {
        match effect {
            McpEffect::DescribeNone => vec![Input::note(self.describe_no_servers())],
            McpEffect::ShowTools(name) => vec![Input::note(report::offers(&self.runtime, &name))],
            McpEffect::ShowLog(name) => vec![report::log(&self.runtime, &name)],
            McpEffect::Restart(name) => vec![self.restart_server(&name)],
            McpEffect::Enable(name) => self.switch_server(&name, Enabled::Yes),
            McpEffect::Disable(name) => self.switch_server(&name, Enabled::No),
            McpEffect::SignIn(name) => vec![self.begin_server_login(name)],
            McpEffect::SignOut(name) => vec![self.forget_server_login(&name)],
            McpEffect::Redirected(address) => {
                if let Some(login) = &self.tasks.server_login {
                    login.paste(address);
                }
                Vec::new()
            }
            McpEffect::AskAboutProject => match self.runtime.mcp_project() {
                Some(project) => vec![project::question(&project)],
                None => vec![Input::note("this project has no .mcp.json")],
            },
            McpEffect::AnswerProject(answer) => self.answer_project(answer),
        }
    }

    /// Passes the states of the servers to the chat, and their prompts as commands.
    pub(super) fn handle_server_change(&mut self) -> io::Result<Option<Ending>> {
        let runtime = Arc::clone(&self.runtime);
        self.tasks
            .jobs
            .spawn(async move { vec![extensions::commands(&runtime).await] });
        let input = self.server_states();
        self.handle_and_draw_soon(input)
    }

    fn server_states(&self) -> Input {
        let Some(set) = self.runtime.mcp() else {
            return Input::Mcp(McpInput::Servers {
                servers: Vec::new(),
                resources: Vec::new(),
            });
        };
        let servers = set.servers().into_iter().map(|status| self.shown(status));
        let resources = set.resources().into_iter().take(MAX_OFFERED_RESOURCES);
        let resources = resources.map(|resource| {
            let title = resource.title.unwrap_or(resource.name);
            (format!("{}:{}", resource.server, resource.uri), title)
        });
        Input::Mcp(McpInput::Servers {
            servers: servers.collect(),
            resources: resources.collect(),
        })
    }

    fn shown(&self, status: ServerStatus) -> McpServer {
        let entry = self.runtime.mcp_entry(&status.name);
        let is_remote = entry.is_some_and(|entry| !matches!(entry.address, Address::Stdio { .. }));
        McpServer {
            state: match status.state {
                ServerState::Disabled => McpState::Disabled,
                ServerState::Starting => McpState::Starting,
                ServerState::Ready => McpState::Ready,
                ServerState::NeedsLogin => McpState::NeedsLogin,
                ServerState::Restarting { reason } => McpState::Restarting(reason),
                ServerState::Failed { reason } => McpState::Failed(reason),
            },
            name: status.name,
            is_remote,
            tools: status.tools,
            prompts: status.prompts,
            resources: status.resources,
        }
    }

    fn restart_server(&self, name: &str) -> Input {
        let restarted = self.runtime.mcp().map(|set| set.restart(name));
        match restarted {
            Some(Ok(())) => Input::note(format!("restarting the MCP server {name}")),
            Some(Err(error)) => Input::failure(error),
            None => Input::failure("there are no MCP servers"),
        }
    }

    fn switch_server(&self, name: &str, enabled: Enabled) -> Vec<Input> {
        let workspace = self.runtime.workspace();
        let done = match enabled {
            Enabled::Yes => format!("enabled the MCP server {name}"),
            Enabled::No => format!("disabled the MCP server {name}"),
        };
        let switched = match switch(workspace, name, None, enabled) {
            Ok(switched) => switched,
            Err(error) => return vec![Input::failure(error)],
        };
        let text = match switched {
            Switched::Changed(path) => format!("{done} (saved in {})", path.display()),
            Switched::Already => done,
        };
        let mut inputs = vec![Input::note(text)];
        inputs.extend(self.reload_servers());
        inputs
    }

    /// Reads the files again, and reports what is wrong with them.
    fn reload_servers(&self) -> Vec<Input> {
        let inputs = match self.runtime.reload_mcp() {
            Ok(warnings) => warnings.into_iter().map(Input::failure).collect(),
            Err(error) => vec![Input::failure(error)],
        };
        inputs.into_iter().chain([self.server_states()]).collect()
    }

    /// Asks about the servers of the project, if the user has not been asked about them.
    pub(super) fn ask_about_project(&self) -> Vec<Input> {
        let project = self.runtime.mcp_project();
        Vec::from_iter(project.as_ref().and_then(project::question_if_open))
    }

    fn answer_project(&self, answer: ProjectAnswer) -> Vec<Input> {
        let decision = match answer {
            ProjectAnswer::Start => Decision::Approved,
            ProjectAnswer::Never => Decision::Refused,
            ProjectAnswer::NotNow => {
                return vec![
                    Input::note(
                        "the project's MCP servers were not started: /mcp project asks again",
                    ),
                    Input::Mcp(McpInput::ProjectSettled),
                ];
            }
        };
        let mut inputs: Vec<Input> = match self.runtime.answer_mcp_project(decision) {
            Ok(warnings) => warnings.into_iter().map(Input::failure).collect(),
            Err(error) => vec![Input::failure(error)],
        };
        if answer == ProjectAnswer::Never {
            let text = "the project's MCP servers are not started, as long as .mcp.json stays the same: \
                        /mcp project asks again";
            inputs.push(Input::note(text));
        }
        inputs.push(self.server_states());
        inputs.push(Input::Mcp(McpInput::ProjectSettled));
        inputs
    }

    fn describe_no_servers(&self) -> String {
        let mut text =
            "no MCP servers: `zot mcp add NAME -- COMMAND` adds one, docs/mcp.md has more"
                .to_owned();
        if self.runtime.mcp_project().is_some() {
            text.push_str(
                "\nthe project has servers that were not started: /mcp project asks about them",
            );
        }
        text
    }
}
