//! Why a runtime could not be assembled.

use std::io;
use std::path::PathBuf;

use zot_auth::CredentialError;
use zot_cassette::CassetteError;
use zot_provider::ProvidersProblem;
use zot_provider::network::PlanError;
use zot_session::{FindError, ForkError, SessionError};
use zot_tools::JailError;

use crate::runtime::did_you_mean;

/// Why a runtime could not be assembled. Nothing has been started or contacted.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    #[error("unknown provider {name:?}{}; known: {}", did_you_mean(.nearest), .known.join(", "))]
    UnknownProvider {
        name: String,
        nearest: Vec<String>,
        known: Vec<String>,
    },
    #[error("unknown model {model:?} for {provider}{}", hint(.elsewhere, .nearest))]
    UnknownModel {
        model: String,
        provider: String,
        /// The provider that has this model.
        elsewhere: Option<String>,
        nearest: Vec<String>,
    },
    #[error(transparent)]
    UnknownTool(#[from] UnknownTool),
    #[error(
        "no provider has an API key: run `zot login NAME`, pass --api-key KEY with --provider NAME, \
         set a variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or add a key to {} (mode 0600); to try zot \
         without a key, use --provider offline", .auth_file.display()
    )]
    NoCredential { auth_file: PathBuf },
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The provider's entry in `providers.json` is invalid.
    #[error(transparent)]
    Providers(#[from] ProvidersProblem),
    #[error("provider {provider} has no default model: name one with --model")]
    NoModel { provider: String },
    #[error("cannot read {}: {source}; $ZOT_HOME must be a directory", .path.display())]
    Home { path: PathBuf, source: io::Error },
    #[error("cannot work in {}: {source}", .path.display())]
    WorkingDirectory { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", .path.display())]
    SystemPrompt { path: PathBuf, source: io::Error },
    #[error("{0}; write it like http://127.0.0.1:8080/v1")]
    BaseUrl(PlanError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    FindSession(#[from] FindError),
    #[error(transparent)]
    ForkSession(#[from] ForkError),
    #[error("cannot list {}: {source}", .path.display())]
    Sessions { path: PathBuf, source: io::Error },
    #[error("--provider replay needs a recording: name it with --cassette FILE")]
    NoCassette,
    #[error("--cassette is for --provider replay, not for {provider}; to record use --record FILE")]
    CassetteUnused { provider: String },
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    #[error(transparent)]
    Jail(#[from] JailError),
    #[error("extensions need a tokio runtime: create the agent runtime inside one")]
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
