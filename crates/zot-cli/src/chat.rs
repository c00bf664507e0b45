//! `zot` in a terminal: the chat.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use zot_sdk::credentials::CredentialError;
use zot_sdk::{
    AssemblyError, AtStepLimit, Config, HttpClient, Persistence, PreferredModel, Resumption,
    Runtime, Workspace,
};
use zot_stdio::executor;
use zot_tui::{Carried, Ending, ModelChoice, Options, Waiting};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;

pub(crate) fn run(
    arguments: Arguments,
    prompt: Option<String>,
    picks_session: bool,
) -> Result<ExitCode, Failure> {
    let (config, mut settings) =
        configuration::read_with_settings(arguments, Persistence::SessionFile)?;
    let home = config
        .home
        .clone()
        .unwrap_or_else(|| Workspace::of_process().zot_home);
    let mut config = config;
    config.steps.when_reached = AtStepLimit::Ask;
    if config.model.fallback.is_empty() {
        // Whoever waits sees it, and can stop it. Another model would be quicker.
        config.http = Some(HttpClient::new().patient());
    }
    let is_flagged = config.model.provider.is_some() || config.model.model.is_some();
    let mut prompt = prompt;
    let mut draft = None;
    let mut carried_outputs = Waiting::default();
    let mut picks_session = picks_session;
    // A conversation that is in no file.
    let mut unkept = Vec::new();
    loop {
        let messages = std::mem::take(&mut unkept);
        let mut options = Options {
            prompt: prompt.take(),
            draft: draft.take(),
            waiting: std::mem::take(&mut carried_outputs),
            picks_session: std::mem::take(&mut picks_session),
            history: Some(home.join("history.jsonl")),
            theme: settings.theme.take(),
            themes: Some(home.join("themes")),
            model_choice: Some(ModelChoice {
                home: home.clone(),
                is_flagged,
            }),
            keeps_scrollback: settings.keep_scrollback != Some(false),
            describes_images: settings.inline_images_enabled == Some(false),
            sessions: Some(home.join("sessions")),
            ..Options::default()
        };
        let (wanted, home) = (config.clone(), home.as_path());
        let ending = executor::run(|_| async move {
            let runtime = assemble(wanted, home, &mut options)?;
            options.warnings.extend_from_slice(runtime.warnings());
            if !messages.is_empty()
                && let Err(error) = runtime.set_messages(messages)
            {
                options.warnings.push(format!(
                    "the conversation could not be taken along: {error}"
                ));
            }
            Ok::<_, Failure>(zot_tui::run(Arc::new(runtime), options).await?)
        })??;
        match ending {
            Ending::Left => return Ok(ExitCode::SUCCESS),
            Ending::Signal(signal) => return Ok(ExitCode::from(signal.exit_code())),
            Ending::TerminalGone => return Ok(ExitCode::from(129)),
            Ending::Again { session, carried } => {
                let Carried {
                    is_jailed,
                    approval,
                    model,
                    messages,
                    prompt: waiting,
                    draft: unsent,
                    waiting: outputs,
                } = *carried;
                (prompt, draft) = (waiting, unsent);
                carried_outputs = outputs;
                config.tools.jail = is_jailed;
                config.tools.approval = approval;
                config.model.model = model.or(config.model.model);
                // The chat may have changed them.
                settings = configuration::layers(config.cwd.as_deref())?.settings();
                config.model.preferred = PreferredModel {
                    provider: settings.provider.clone(),
                    model: settings.model.clone(),
                };
                config.session.resumption = Resumption::Append;
                config.session.persistence = match (session, config.session.persistence) {
                    (Some(session), _) => Persistence::Resume(session.display().to_string()),
                    // Who wanted nothing to be kept still does.
                    (None, Persistence::Never) => Persistence::Never,
                    (None, _) => Persistence::SessionFile,
                };
                unkept = messages;
            }
        }
    }
}

/// Whoever has no key yet, or has it no more, gets a chat all the same, and is told how to get a
/// better one.
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
        // The message says which entry it is and what to do.
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
        "{reason}, so this is the offline stand-in, which follows fixed rules. {command} \
         gives one (it is kept in {}); so does a variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY",
        auth_file.display()
    ));
    config.model.provider = Some("offline".to_owned());
    config.model.model = None;
    Ok(Runtime::new(config)?)
}
