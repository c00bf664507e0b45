//! Turns `[agents.NAME]` into the configuration of zot.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use zot_process::sandbox::{BadHost, ConnectRule, Rules};
use zot_sdk::{
    ApprovalPolicy, ApprovalScope, ContextSearch, ExtensionSearch, ModelChoice, SandboxChoice,
    SkillSearch, SystemPrompt, ToolChoice, ToolSelection,
};

use super::wire::ProfileFacts;
use crate::config::Config;
use crate::config::agents::Profile;

/// The built-in tools that change something, which `approve = "writes"` covers.
pub const WRITING_TOOLS: [&str; 3] = ["bash", "edit", "write"];

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("there is no [agents.{0}]: expected one of {1}")]
    Unknown(String, String),
    #[error("there is no profile: name one as [agents.NAME] in the configuration")]
    None,
    #[error(
        "[agents.{name}] approve: expected \"never\", \"writes\" or \"always\", got {approve:?}"
    )]
    Approve { name: String, approve: String },
    #[error("[agents.{name}] connect: {problem}")]
    Connect { name: String, problem: BadHost },
    #[error("[agents.{name}] directory {}: {source}", .directory.display())]
    Directory {
        name: String,
        directory: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "[agents.{name}] directory {} holds {}, which the tools of its sessions could read: move one of them",
        .directory.display(), .secret.display()
    )]
    Exposed {
        name: String,
        directory: PathBuf,
        secret: PathBuf,
    },
}

/// Finds the profiles to serve: those named, or all.
pub fn profiles<'a>(
    config: &'a Config,
    named: &'a [String],
) -> Result<Vec<(&'a str, &'a Profile)>, ProfileError> {
    if config.agents.is_empty() {
        return Err(ProfileError::None);
    }
    if named.is_empty() {
        let all = config.agents.iter();
        return Ok(all
            .map(|(name, profile)| (name.as_str(), profile))
            .collect());
    }
    let find = |name: &'a String| {
        let found = config.agents.get_key_value(name);
        found
            .map(|(name, profile)| (name.as_str(), profile))
            .ok_or_else(|| {
                let known: Vec<&str> = config.agents.keys().map(String::as_str).collect();
                ProfileError::Unknown(name.clone(), known.join(", "))
            })
    };
    named.iter().map(find).collect()
}

/// Returns the configuration of every session of a profile.
pub fn session_config(name: &str, profile: &Profile) -> Result<zot_sdk::Config, ProfileError> {
    let scope = match profile.approve.as_deref() {
        None | Some("never") => ApprovalScope::Nothing,
        Some("writes") => ApprovalScope::Tools(WRITING_TOOLS.map(str::to_owned).to_vec()),
        Some("always") => ApprovalScope::AllTools,
        Some(other) => {
            return Err(ProfileError::Approve {
                name: name.to_owned(),
                approve: other.to_owned(),
            });
        }
    };
    let connect = profile.connect.iter().map(|host| host.parse());
    let connect = connect.collect::<Result<Vec<ConnectRule>, BadHost>>();
    let connect = connect.map_err(|problem| ProfileError::Connect {
        name: name.to_owned(),
        problem,
    })?;
    Ok(zot_sdk::Config {
        model: ModelChoice {
            provider: profile.provider.clone(),
            model: profile.model.clone(),
            base_url: profile.base_url.clone(),
            ..ModelChoice::default()
        },
        system_prompt: SystemPrompt {
            replacement: profile.system_prompt.clone(),
            ..SystemPrompt::default()
        },
        context: match profile.instructions {
            true => ContextSearch {
                instructions: true,
                templates: true,
                skills: SkillSearch::All,
            },
            false => ContextSearch::default(),
        },
        tools: ToolChoice {
            selection: match &profile.tools {
                None => ToolSelection::All,
                Some(names) if names.is_empty() => ToolSelection::None,
                Some(names) => ToolSelection::Only(names.clone()),
            },
            jail: profile.jail,
            sandbox: SandboxChoice {
                level: Some(profile.sandbox),
                rules: Rules {
                    connect,
                    ..Rules::default()
                },
                // A client far away must not decide about this machine.
                is_fixed: true,
            },
            approval: ApprovalPolicy {
                scope,
                ..ApprovalPolicy::default()
            },
            ..ToolChoice::default()
        },
        extensions: ExtensionSearch {
            discover: profile.extensions,
            sandbox: profile.sandbox,
            ..ExtensionSearch::default()
        },
        cwd: Some(profile.directory.clone()),
        ..zot_sdk::Config::default()
    })
}

/// Returns what clients may rely on.
pub fn facts(profile: &Profile) -> ProfileFacts {
    ProfileFacts {
        approve: profile.approve.clone().unwrap_or("never".to_owned()),
        jail: profile.jail,
    }
}

/// Refuses a directory in which tools could read our configuration or our keys. `config_file` may hold
/// the addresses of the store and the bus with their passwords.
pub fn check_directory(
    name: &str,
    profile: &Profile,
    config: &Config,
    config_file: &Path,
) -> Result<(), ProfileError> {
    let failed = |source| ProfileError::Directory {
        name: name.to_owned(),
        directory: profile.directory.clone(),
        source,
    };
    let directory = profile.directory.canonicalize().map_err(failed)?;
    let has_password = config.bus.url.is_some() || config.store.url.is_some();
    let secrets = [
        has_password.then_some(config_file),
        config.bus.nkey.as_deref(),
        config.bus.credentials.as_deref(),
        config.tls.key.as_deref(),
    ];
    for secret in secrets.into_iter().flatten() {
        if let Ok(path) = secret.canonicalize()
            && path.starts_with(&directory)
        {
            return Err(ProfileError::Exposed {
                name: name.to_owned(),
                directory: profile.directory.clone(),
                secret: secret.to_owned(),
            });
        }
    }
    Ok(())
}
