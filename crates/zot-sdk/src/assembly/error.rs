//! Why a runtime could not be assembled.

use std::io;
use std::path::PathBuf;

use zot_auth::CredentialError;
use zot_cassette::CassetteError;
use zot_mcp::configuration::ConfigurationError;
use zot_process::sandbox::SandboxError;
use zot_provider::ProvidersProblem;
use zot_provider::network::PlanError;
use zot_session::{FindError, ForkError, SessionError};

use crate::runtime::did_you_mean;

/// Why a runtime could not be assembled. Nothing has been started or contacted.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// No provider has this name.
    #[error("unknown provider {name:?}{}; known: {}", did_you_mean(.nearest), .known.join(", "))]
    UnknownProvider {
        /// The name that was requested.
        name: String,
        /// Names that were probably meant.
        nearest: Vec<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// The provider has no such model.
    #[error("unknown model {model:?} for {provider}{}", hint(.elsewhere, .nearest))]
    UnknownModel {
        /// The model that was requested.
        model: String,
        /// The provider concerned.
        provider: String,
        /// The provider that has this model.
        elsewhere: Option<String>,
        /// Names that were probably meant.
        nearest: Vec<String>,
    },
    /// A selected tool does not exist.
    #[error(transparent)]
    UnknownTool(#[from] UnknownTool),
    /// No provider was chosen, and none has a credential.
    #[error(
        "no provider has an API key: run `zot login NAME`, pass --api-key KEY with --provider NAME, \
         set a variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or add a key to {} (mode 0600); to try zot \
         without a key, use --provider offline", .auth_file.display()
    )]
    NoCredential {
        /// The path of `auth.json`.
        auth_file: PathBuf,
    },
    /// The credential is missing or cannot be used.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The provider's entry in `providers.json` is invalid.
    #[error(transparent)]
    Providers(#[from] ProvidersProblem),
    /// The provider has no default model, and none was chosen.
    #[error("provider {provider} has no default model: name one with --model")]
    NoModel {
        /// The provider concerned.
        provider: String,
    },
    /// zot's own directory cannot be read.
    #[error("cannot read {}: {source}; $ZOT_HOME must be a directory", .path.display())]
    Home {
        /// The path concerned.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The working directory cannot be used.
    #[error("cannot work in {}: {source}", .path.display())]
    WorkingDirectory {
        /// The path concerned.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// `SYSTEM.md` cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    SystemPrompt {
        /// The path concerned.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The base URL is invalid.
    #[error("{0}; write it like http://127.0.0.1:8080/v1")]
    BaseUrl(PlanError),
    /// The session cannot be opened.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session to resume was not found.
    #[error(transparent)]
    FindSession(#[from] FindError),
    /// The session cannot be forked.
    #[error(transparent)]
    ForkSession(#[from] ForkError),
    /// The sessions cannot be listed.
    #[error("cannot list {}: {source}", .path.display())]
    Sessions {
        /// The path concerned.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The provider is `replay`, but no cassette was given.
    #[error("--provider replay needs a recording: name it with --cassette FILE")]
    NoCassette,
    /// A cassette was given, but the provider is not `replay`.
    #[error("--cassette is for --provider replay, not for {provider}; to record use --record FILE")]
    CassetteUnused {
        /// The provider concerned.
        provider: String,
    },
    /// The cassette cannot be read or created.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// The tools cannot be confined.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The configuration of MCP servers that was given cannot be used.
    #[error(transparent)]
    Mcp(#[from] ConfigurationError),
    /// Extensions and MCP servers need a tokio runtime.
    #[error("extensions and MCP servers need a tokio runtime: create the agent runtime inside one")]
    NoExecutor,
}

/// A requested tool does not exist.
#[derive(Debug, thiserror::Error)]
#[error("unknown tool {name:?}{}; known: {}", did_you_mean(.nearest), .known.join(", "))]
pub struct UnknownTool {
    pub(crate) name: String,
    pub(crate) nearest: Vec<String>,
    pub(crate) known: Vec<String>,
}

fn hint(elsewhere: &Option<String>, nearest: &[String]) -> String {
    match elsewhere {
        Some(provider) => format!("; it belongs to --provider {provider}"),
        None if nearest.is_empty() => "; see --list-models".to_owned(),
        None => did_you_mean(nearest),
    }
}
