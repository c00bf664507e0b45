//! Carries out the effects of the state.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use zot_sdk::login::open_in_browser;

use super::previews::Sources;
use super::{Chat, Ending, editor_program, files, history_file, listings, themes};
use crate::app::{
    Effect, FileList, Input, Listed, Query, SettingsEffect, ShellEffect, TerminalEffect,
};

/// How much terminals accept for the clipboard.
///
/// Limit: only the beginning is copied.
const MAX_COPIED_BYTES: usize = 74_000;

/// The inputs that an effect results in immediately, or how it ends the chat.
pub(super) type Performed = ControlFlow<Ending, Vec<Input>>;

impl Chat {
    pub(super) fn perform(&mut self, effect: Effect) -> io::Result<Performed> {
        let inputs = match effect {
            Effect::Agent(effect) => self.perform_for_agent(effect),
            Effect::Session(effect) => return Ok(self.perform_for_sessions(effect)),
            Effect::Login(effect) => self.perform_for_login(effect),
            Effect::Query(query) => self.answer_query(query),
            Effect::Extension(effect) => self.perform_for_extension(effect),
            Effect::Settings(SettingsEffect::Save { name, value }) => {
                Vec::from_iter(self.save_setting(name, &value))
            }
            Effect::Settings(SettingsEffect::LoadTheme(name)) => self.load_theme(&name),
            Effect::Terminal(effect) => self.perform_for_terminal(effect)?,
            Effect::Shell(ShellEffect::Run(command)) => self.begin_shell(command),
            Effect::Shell(ShellEffect::Cancel) => {
                if let Some((_, cancel)) = &self.tasks.shell {
                    cancel.cancel();
                }
                Vec::new()
            }
            Effect::Mcp(effect) => self.perform_for_servers(effect),
            Effect::Remember(draft) => {
                let path = self.options.history.as_deref();
                let saved = path.map(|path| (path, history_file::append(path, &draft)));
                match saved {
                    Some((path, Err(error))) => {
                        vec![Input::failure(format!("{}: {error}", path.display()))]
                    }
                    _ => Vec::new(),
                }
            }
            Effect::Quit => return Ok(ControlFlow::Break(Ending::Left)),
        };
        Ok(ControlFlow::Continue(inputs))
    }

    fn perform_for_terminal(&mut self, effect: TerminalEffect) -> io::Result<Vec<Input>> {
        match effect {
            TerminalEffect::OpenEditor(text) => {
                let cwd = self.runtime.cwd().to_owned();
                self.lend_terminal(async move {
                    match editor_program::edit(&text, &cwd).await {
                        Ok(text) => Input::Edited(text),
                        Err(error) => Input::failure(error),
                    }
                })?;
            }
            TerminalEffect::Copy(_) if self.plain.is_some() => {
                return Ok(vec![Input::failure("this terminal cannot copy")]);
            }
            TerminalEffect::Copy(text) => {
                let end = text.floor_char_boundary(MAX_COPIED_BYTES.min(text.len()));
                let encoded = BASE64.encode(&text[..end]);
                self.terminal
                    .write(format!("\x1b]52;c;{encoded}\x07").as_bytes())?;
                return Ok(vec![Input::note("copied (if the terminal allows it)")]);
            }
            TerminalEffect::OpenPage(page) => {
                self.tasks.browser = open_in_browser(&page);
                if self.tasks.browser.is_none() {
                    let text = "no browser can be opened from here: open this page yourself";
                    return Ok(vec![Input::note(format!("{text}\n{page}"))]);
                }
            }
            TerminalEffect::Suspend => self.suspend()?,
        }
        Ok(Vec::new())
    }

    fn answer_query(&mut self, query: Query) -> Vec<Input> {
        let runtime = Arc::clone(&self.runtime);
        vec![match query {
            Query::Files => {
                self.list_files();
                return Vec::new();
            }
            Query::Models => {
                let models = runtime.list_models().into_iter();
                Input::Listed(Listed::Models(models.map(|model| model.id).collect()))
            }
            Query::Prompts => Input::Listed(Listed::Prompts(listings::prompts(&runtime))),
            Query::Skills => listings::skills(&runtime),
            Query::Themes => {
                let themes = themes::list(self.options.themes.as_deref());
                Input::Listed(Listed::Themes(themes))
            }
            Query::Tools => listings::tools(&runtime),
            Query::Context => listings::context(&runtime),
            Query::Reprint(index) => return listings::earlier(&runtime, index),
            Query::Mentions { text, names } => {
                self.spawn_reading(move || {
                    let parts = runtime.attach_mentions(&text).parts;
                    vec![Input::Mentions { names, parts }]
                });
                return Vec::new();
            }
            Query::Preview(subject) => {
                let sources = Sources {
                    runtime,
                    sessions: Arc::clone(&self.sessions),
                    themes: self.options.themes.clone(),
                };
                self.spawn_reading(move || vec![sources.preview(subject)]);
                return Vec::new();
            }
        }]
    }

    /// Lists the nearest files first: all of them may take a while.
    fn list_files(&mut self) {
        let cwd = self.runtime.cwd().to_owned();
        let root = cwd.clone();
        let listed = |files| vec![Input::Listed(Listed::Files(files))];
        self.spawn_reading(move || listed(FileList::partial(files::list_near(&root))));
        self.spawn_reading(move || listed(FileList::complete(files::list(&cwd))));
    }

    /// Runs a job that only reads files, which may take long, or for ever on a file system that does not
    /// answer. The end of the chat does not wait for it.
    fn spawn_reading(&mut self, work: impl FnOnce() -> Vec<Input> + Send + 'static) {
        self.tasks.jobs.spawn(async move {
            let done = tokio::task::spawn_blocking(work).await;
            done.unwrap_or_default()
        });
    }

    fn load_theme(&self, name: &str) -> Vec<Input> {
        match themes::load(name, self.options.themes.as_deref()) {
            Ok(theme) => {
                let problem = self.save_setting("theme", name);
                let theme = Input::Theme(Box::new(theme));
                std::iter::once(theme).chain(problem).collect()
            }
            Err(error) => vec![Input::failure(error)],
        }
    }
}
