//! The arguments of `zino attach`, among them those with which clients of `zot rpc` start it.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::time::Duration;

use clap::Args;
use zino::program::attach::{AttachRequest, DEFAULT_WAIT, Demands};
use zot_process::sandbox::Level;
use zot_rpc::Token;
use zot_wire::rpc::{Command, SandboxLevel, SetSandboxCommand};

use super::ConfigArgument;

#[derive(Args)]
pub(crate) struct Attach {
    /// Continue this session instead of a new one
    #[arg(long, alias = "resume", value_name = "ID")]
    session: Option<String>,
    /// The profile of the session (default: the only one of the configuration, or `default`)
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// How many seconds to wait for a worker, or for a session that another worker holds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_WAIT.as_secs())]
    wait: u64,
    #[command(flatten)]
    pub(crate) config: ConfigArgument,
    #[command(flatten)]
    flags: RpcFlags,
}

/// Flags of `zot rpc`: clients pass them to whatever program they start. Those that only a profile can
/// set are not among them, and refused.
#[derive(Args)]
struct RpcFlags {
    #[arg(hide = true, value_parser = ["rpc"])]
    mode: Option<String>,
    #[arg(long, hide = true)]
    model: Option<String>,
    #[arg(long, hide = true)]
    system_prompt: Option<String>,
    #[arg(long, hide = true)]
    reasoning: Option<String>,
    #[arg(long, hide = true, value_delimiter = ',', allow_hyphen_values = true, value_parser = tool_name)]
    tools: Option<Vec<String>>,
    #[arg(long, hide = true)]
    no_tools: bool,
    #[arg(
        long,
        hide = true,
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = ""
    )]
    confirm: Option<Vec<String>>,
    #[arg(long, hide = true)]
    jail: bool,
    #[arg(long, hide = true, value_name = "LEVEL")]
    sandbox: Option<Level>,
    /// Refused, because a client may rely on its extension.
    #[arg(long, short, hide = true, value_name = "DIR", value_parser = refused_extension)]
    ext: Option<Infallible>,
    #[arg(long, hide = true)]
    no_ext: bool,
}

impl Attach {
    pub(crate) fn request(self, token: Option<Token>) -> AttachRequest {
        let flags = self.flags;
        let tools = match flags.no_tools {
            true => Some(Vec::new()),
            false => flags.tools,
        };
        let settings = [
            flags.model.map(|model| Command::SetModel { model }),
            flags.system_prompt.map(|prompt| Command::SetSystemPrompt {
                prompt: Some(prompt),
            }),
            flags.reasoning.map(|effort| Command::SetReasoning {
                effort: Some(effort),
            }),
            tools.map(|tools| Command::SetTools { tools: Some(tools) }),
            flags.sandbox.map(|level| {
                Command::SetSandbox(SetSandboxCommand {
                    level: match level {
                        Level::Off => SandboxLevel::Off,
                        Level::Workspace => SandboxLevel::Workspace,
                        Level::ReadOnly => SandboxLevel::ReadOnly,
                    },
                    ..SetSandboxCommand::default()
                })
            }),
        ];
        AttachRequest {
            session: self.session,
            profile: self.profile,
            wait: Duration::from_secs(self.wait),
            settings: settings.into_iter().flatten().collect(),
            demands: Demands {
                confirm: flags
                    .confirm
                    .map(|names| names.into_iter().filter(|name| !name.is_empty()).collect()),
                jail: flags.jail,
            },
            token,
        }
    }
}

/// Takes a tool to allow. To leave one out, the tools of the worker would have to be known.
fn tool_name(name: &str) -> Result<String, &'static str> {
    match name.starts_with('-') {
        true => Err("name the tools to allow: only the profile of the workers can leave out some"),
        false => Ok(name.to_owned()),
    }
}

fn refused_extension(_directory: &str) -> Result<Infallible, &'static str> {
    Err(
        "extensions run on the workers: install it there, and set extensions = true in their profile",
    )
}
