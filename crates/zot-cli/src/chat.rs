//! `zot` in a terminal: the chat.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use zot_sdk::configuration::Settings;
use zot_sdk::credentials::CredentialError;
use zot_sdk::mcp::ProjectServers;
use zot_sdk::wire::FullMessage;
use zot_sdk::{
    AssemblyError, AtStepLimit, Config, HttpClient, Persistence, PreferredModel, Resumption,
    Runtime, Workspace,
};
use zot_stdio::executor;
use zot_tui::{AttachedOutput, Ending, Inherited, Options, SavedModel};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;

pub(crate) fn run(
    arguments: Arguments,
    prompt: Option<String>,
    picks_session: bool,
) -> Result<ExitCode, Failure> {
    let (mut config, settings) =
        configuration::read_with_settings(arguments, Persistence::SessionFile)?;
    config.steps.when_reached = AtStepLimit::Ask;
    if config.mcp.user && config.mcp.project == ProjectServers::Skip {
        config.mcp.project = ProjectServers::IfApproved;
    }
    if config.model.fallback.is_empty() {
        // The user sees the wait and can stop it. With a fallback, switching models is quicker.
        config.http = Some(HttpClient::new().patient());
    }
    let mut chat = Chat {
        is_overridden: config.model.provider.is_some() || config.model.model.is_some(),
        home: match &config.home {
            Some(home) => home.clone(),
            None => Workspace::of_process().zot_home,
        },
        config,
        settings,
        next: Start {
            prompt,
            picks_session,
            ..Start::default()
        },
    };
    loop {
        match chat.run_once()? {
            Ending::Left => return Ok(ExitCode::SUCCESS),
            Ending::Signal(signal) => return Ok(ExitCode::from(signal.exit_code())),
            Ending::TerminalClosed => return Ok(ExitCode::from(129)),
            Ending::Restarted { session, inherited } => chat.restart_with(session, *inherited)?,
        }
    }
}

/// What is kept when a chat restarts with another session.
struct Chat {
    config: Config,
    settings: Settings,
    home: PathBuf,
    /// Whether the command line names a provider or a model.
    is_overridden: bool,
    next: Start,
}

/// What the next chat starts with.
#[derive(Default)]
struct Start {
    prompt: Option<String>,
    draft: Option<String>,
    attached: AttachedOutput,
    picks_session: bool,
    /// A conversation that is not in a session file.
    messages: Vec<FullMessage>,
}

impl Chat {
    fn run_once(&mut self) -> Result<Ending, Failure> {
        let Start {
            prompt,
            draft,
            attached,
            picks_session,
            messages,
        } = std::mem::take(&mut self.next);
        let home = self.home.as_path();
        let mut options = Options {
            prompt,
            draft,
            attached,
            picks_session,
            history: Some(home.join("history.jsonl")),
            theme: self.settings.theme.take(),
            themes: Some(home.join("themes")),
            saved_model: Some(SavedModel {
                home: home.to_owned(),
                is_overridden: self.is_overridden,
            }),
            keeps_scrollback: self.settings.keep_scrollback != Some(false),
            describes_images: self.settings.inline_images_enabled == Some(false),
            sessions: Some(home.join("sessions")),
            ..Options::default()
        };
        let config = self.config.clone();
        executor::run(|_| async move {
            let runtime = assemble(config, home, &mut options)?;
            options.warnings.extend_from_slice(runtime.warnings());
            if !messages.is_empty()
                && let Err(error) = runtime.set_messages(messages)
            {
                options.warnings.push(format!(
                    "the conversation could not be carried over: {error}"
                ));
            }
            Ok::<_, Failure>(zot_tui::run(Arc::new(runtime), options).await?)
        })?
    }

    fn restart_with(
        &mut self,
        session: Option<PathBuf>,
        inherited: Inherited,
    ) -> Result<(), Failure> {
        let Inherited {
            is_jailed,
            sandbox,
            approval,
            model,
            messages,
            prompt,
            draft,
            attached,
        } = inherited;
        self.next = Start {
            prompt,
            draft,
            attached,
            picks_session: false,
            messages,
        };
        let config = &mut self.config;
        config.tools.jail = is_jailed;
        config.tools.sandbox = sandbox.into();
        config.tools.approval = approval;
        if model.is_some() {
            config.model.model = model;
        }
        // The chat may have changed the settings.
        self.settings = configuration::layers(config.cwd.as_deref())?.settings();
        config.model.preferred = PreferredModel {
            provider: self.settings.provider.clone(),
            model: self.settings.model.clone(),
        };
        config.session.resumption = Resumption::Append;
        config.session.persistence = match (session, &config.session.persistence) {
            (Some(session), _) => Persistence::Resume(session.display().to_string()),
            // --no-session still applies.
            (None, Persistence::Never) => Persistence::Never,
            (None, _) => Persistence::SessionFile,
        };
        Ok(())
    }
}

/// Assembles a runtime. Without a usable key it gets the offline stand-in and a warning that explains
/// how to log in.
fn assemble(mut config: Config, home: &Path, options: &mut Options) -> Result<Runtime, Failure> {
    let (reason, command, auth_file) = match Runtime::new(config.clone()) {
        Err(AssemblyError::NoCredential { auth_file }) => {
            let reason = "no provider has a key".to_owned();
            (reason, "/login".to_owned(), auth_file)
        }
        Err(AssemblyError::Credential(CredentialError::Missing {
            provider,
            auth_file,
            ..
        })) => {
            let command = format!("/login {provider}");
            (format!("{provider} has no key"), command, auth_file)
        }
        // The message names the entry and says what to do.
        Err(AssemblyError::Credential(
            error @ (CredentialError::OauthUnsupported { .. }
            | CredentialError::UnknownEntry { .. }
            | CredentialError::Malformed { .. }),
        )) => {
            let provider = match &error {
                CredentialError::OauthUnsupported { provider, .. }
                | CredentialError::UnknownEntry { provider, .. } => format!(" {provider}"),
                _ => String::new(),
            };
            let reason = error.to_string();
            (reason, format!("/login{provider}"), home.join("auth.json"))
        }
        made => return Ok(made?),
    };
    options.warnings.push(format!(
        "{reason}, so this is the offline stand-in, which follows fixed rules. {command} asks for \
         a key (stored in {}); a variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY works too",
        auth_file.display()
    ));
    config.model.provider = Some("offline".to_owned());
    config.model.model = None;
    Ok(Runtime::new(config)?)
}
