//! Does what the state asks for.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zot_sdk::{ApprovalPolicy, Image, InvokedData, PanelAction};

use super::previews::Sources;
use super::{
    Chat, Resized, commands, editor_program, exports, files, history_file, info, listings,
    own_program, shell, themes,
};
use crate::app::{Effect, FileList, Input, PanelView, Prompt};
use crate::terminal::Terminal;

/// What the clipboard sequence of terminals can carry.
const MAX_COPIED_BYTES: usize = 74_000;

impl Chat {
    /// What comes of an effect at once is returned.
    pub(super) fn perform(&mut self, effect: Effect) -> io::Result<Vec<Input>> {
        let failed = |error: &dyn std::fmt::Display| vec![failure(error)];
        Ok(match effect {
            Effect::Prompt(prompt) => {
                let (text, images, mut notes) = self.with_mentions(prompt);
                match self.runtime.prompt(&text, images) {
                    Ok(stream) => self.work = Some(stream),
                    Err(error) => {
                        notes.extend(failed(&error));
                        notes.push(Input::WorkEnded);
                    }
                }
                notes
            }
            Effect::Compact => match self.runtime.compact() {
                Ok(stream) => {
                    self.work = Some(stream);
                    Vec::new()
                }
                Err(error) => [failed(&error), vec![Input::WorkEnded]].concat(),
            },
            Effect::Steer(prompt) => {
                let (text, images, notes) = self.with_mentions(prompt.clone());
                match self.runtime.steer(&text, images) {
                    Ok(()) => notes,
                    // It has just ended: then it is the next prompt.
                    Err(_) => vec![Input::Prompt(prompt)],
                }
            }
            Effect::Cancel => {
                self.runtime.cancel();
                Vec::new()
            }
            Effect::Aside(question) => {
                self.aside = Some(self.runtime.ask_aside(&question));
                Vec::new()
            }
            Effect::CancelAside => {
                self.aside = None;
                Vec::new()
            }
            Effect::SetApproval(scope) => {
                let policy = self.runtime.approval();
                let unknown = listings::unknown_tools(&self.runtime, &scope);
                self.runtime
                    .set_approval(ApprovalPolicy { scope, ..policy });
                unknown.iter().map(|text| failure(text)).collect()
            }
            Effect::Jail => self.jail(),
            Effect::Unjail => self.unjail(),
            Effect::ListSessions => vec![self.list_sessions()],
            Effect::Zot(words) => {
                let file = self.session_file();
                if file.is_none() && words.iter().any(|word| word == "SESSION") {
                    return Ok(failed(&"nothing of this conversation is on disk yet"));
                }
                let cwd = self.runtime.cwd().to_owned();
                self.jobs
                    .spawn(async move { vec![own_program::ask(&cwd, words, file).await] });
                Vec::new()
            }
            Effect::Export(name) => match exports::destination(self.runtime.cwd(), &name) {
                Ok(path) => {
                    let path = path.display().to_string();
                    let words = ["sessions", "export", "SESSION", "--output", &path];
                    self.perform(Effect::Zot(words.map(str::to_owned).to_vec()))?
                }
                Err(error) => failed(&error),
            },
            Effect::Import(file) => {
                let cwd = self.runtime.cwd().to_owned();
                let file = exports::expanded(&file);
                self.jobs
                    .spawn(async move { vec![own_program::import(&cwd, &file).await] });
                Vec::new()
            }
            Effect::LogIn(words) => {
                self.set_aside()?;
                if words.first().is_some_and(|word| word == "login") {
                    self.terminal
                        .write(b"ctrl+c leads back to the chat without a key\n")?;
                }
                self.guest = Some(Box::pin(async move { own_program::log(&words).await }));
                Vec::new()
            }
            Effect::ListPrompts => vec![Input::Prompts(listings::prompts(&self.runtime))],
            Effect::Reprint(index) => listings::earlier(&self.runtime, index),
            Effect::ShowContext => vec![listings::context(&self.runtime)],
            Effect::ListSkills => vec![listings::skills(&self.runtime)],
            Effect::ListThemes => {
                let themes = themes::known(self.options.themes.as_deref());
                vec![Input::Themes(themes)]
            }
            Effect::ListProviders(action) => match listings::providers(action) {
                Ok(providers) => vec![providers],
                Err(error) => failed(&error),
            },
            Effect::Preview(subject) => {
                let sources = Sources {
                    runtime: Arc::clone(&self.runtime),
                    sessions: Arc::clone(&self.sessions),
                    themes: self.options.themes.clone(),
                };
                self.jobs
                    .spawn_blocking(move || vec![sources.answer(subject)]);
                Vec::new()
            }
            Effect::LoadTheme(name) => match themes::load(&name, self.options.themes.as_deref()) {
                Ok(theme) => {
                    let words = ["config", "set", "theme", &name].map(str::to_owned);
                    let cwd = self.runtime.cwd().to_owned();
                    self.jobs.spawn(async move {
                        let kept = own_program::ask(&cwd, words.into(), None).await;
                        let is_problem = matches!(kept, Input::Note { is_error: true, .. });
                        Vec::from_iter(is_problem.then_some(kept))
                    });
                    vec![Input::Theme(Box::new(theme))]
                }
                Err(error) => failed(&error),
            },
            Effect::ShowTools => vec![listings::tools(&self.runtime)],
            Effect::Confirm { id, decision } => match self.runtime.confirm(&id, decision) {
                Ok(()) => Vec::new(),
                Err(error) => failed(&error),
            },
            Effect::SetModel(model) => match self.runtime.set_model(&model) {
                Ok(()) => {
                    self.chosen_model = Some(model);
                    vec![Input::Info(info(&self.runtime))]
                }
                Err(error) => failed(&error),
            },
            Effect::Clear => match self.runtime.clear() {
                Ok(()) => Vec::new(),
                Err(error) => failed(&error),
            },
            Effect::ListModels => {
                let models = self.runtime.list_models();
                vec![Input::Models(
                    models.into_iter().map(|model| model.id).collect(),
                )]
            }
            Effect::ListFiles => {
                let cwd = self.runtime.cwd().to_owned();
                let near = cwd.clone();
                self.jobs.spawn_blocking(move || {
                    vec![Input::Files(FileList::first(files::list_near(&near)))]
                });
                self.jobs
                    .spawn_blocking(move || vec![Input::Files(FileList::whole(files::list(&cwd)))]);
                Vec::new()
            }
            Effect::ListCommands => {
                self.list_commands();
                Vec::new()
            }
            Effect::Invoke { name, arguments } => {
                let runtime = Arc::clone(&self.runtime);
                self.jobs.spawn(async move {
                    match runtime.invoke_command(&name, &arguments).await {
                        Ok(data) => invoked(data),
                        Err(error) => vec![Input::Note {
                            text: error.to_string(),
                            is_error: true,
                        }],
                    }
                });
                Vec::new()
            }
            Effect::ReloadExtensions => {
                let runtime = Arc::clone(&self.runtime);
                self.jobs.spawn(async move {
                    let (text, is_error) = match runtime.reload_extensions().await {
                        Ok(loaded) => (format!("{} extensions are running", loaded.len()), false),
                        Err(error) => (error.to_string(), true),
                    };
                    vec![Input::Note { text, is_error }, commands(&runtime).await]
                });
                Vec::new()
            }
            Effect::PanelKey {
                extension,
                panel: panel_id,
                key,
                text,
            } => {
                let action = PanelAction::Key {
                    panel_id,
                    key,
                    text,
                };
                self.tell_panel(extension, action)
            }
            Effect::PanelResize {
                extension,
                panel: panel_id,
                width,
                height,
            } => {
                let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
                let action = PanelAction::Resize {
                    panel_id,
                    width: number(width),
                    height: number(height),
                };
                self.tell_panel(extension, action)
            }
            Effect::PanelClose {
                extension,
                panel: panel_id,
            } => {
                // It may be gone already, which is what was wanted.
                let _ = self
                    .runtime
                    .tell_panel(&extension, PanelAction::Close { panel_id });
                Vec::new()
            }
            Effect::Shell(command) => {
                let cwd = self.runtime.cwd().to_owned();
                let (sender, receiver) = mpsc::channel(shell::PROGRESS_QUEUE);
                let cancel = CancellationToken::new();
                self.shell = Some((receiver, cancel.clone()));
                self.jobs
                    .spawn(async move { vec![shell::run(&cwd, command, &cancel, sender).await] });
                Vec::new()
            }
            Effect::CancelShell => {
                if let Some((_, cancel)) = &self.shell {
                    cancel.cancel();
                }
                Vec::new()
            }
            Effect::OpenEditor(text) => {
                self.set_aside()?;
                self.guest = Some(Box::pin(async move {
                    match editor_program::edit(&text).await {
                        Ok(text) => Input::Edited(text),
                        Err(error) => failure(&error),
                    }
                }));
                Vec::new()
            }
            Effect::Copy(text) => {
                let end = text.floor_char_boundary(MAX_COPIED_BYTES.min(text.len()));
                let encoded = BASE64.encode(&text[..end]);
                self.terminal
                    .write(format!("\x1b]52;c;{encoded}\x07").as_bytes())?;
                vec![Input::Note {
                    text: "copied (if the terminal allows it)".to_owned(),
                    is_error: false,
                }]
            }
            Effect::Remember(draft) => match &self.options.history {
                Some(path) => match history_file::append(path, &draft) {
                    Ok(()) => Vec::new(),
                    Err(error) => failed(&format!("{}: {error}", path.display())),
                },
                None => Vec::new(),
            },
            Effect::Suspend => {
                self.set_aside()?;
                // Stops here until the shell continues us.
                rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
                self.take_back()?;
                Vec::new()
            }
            // Whoever runs the chat does these.
            Effect::Resume { .. } | Effect::Quit => Vec::new(),
        })
    }

    /// What the agent is asked, with the files that the user mentioned.
    fn with_mentions(&self, prompt: Prompt) -> (String, Vec<Image>, Vec<Input>) {
        let Prompt {
            mut text,
            typed,
            mentions,
            attached: outputs,
        } = prompt;
        if !typed {
            return (text, Vec::new(), Vec::new());
        }
        let mentions = mentions.as_deref().unwrap_or(&text);
        let attached = self.runtime.attach_mentions(mentions);
        for output in outputs {
            text.push_str("\n\n");
            text.push_str(&output.told());
        }
        if !attached.text.is_empty() {
            text.push_str("\n\n");
            text.push_str(&attached.text);
        }
        let problems = attached.problems.iter().map(|one| failure(one)).collect();
        (text, attached.images, problems)
    }

    /// A panel whose extension does not listen is of no use to anybody.
    fn tell_panel(&self, extension: String, action: PanelAction) -> Vec<Input> {
        let (PanelAction::Key { panel_id, .. }
        | PanelAction::Resize { panel_id, .. }
        | PanelAction::Close { panel_id }) = &action;
        let panel = panel_id.clone();
        match self.runtime.tell_panel(&extension, action) {
            Ok(()) => Vec::new(),
            Err(error) => vec![Input::PanelLost {
                extension,
                panel,
                reason: error.to_string(),
            }],
        }
    }

    /// Gives the terminal away.
    fn set_aside(&mut self) -> io::Result<()> {
        let bytes = self.renderer.clear();
        self.terminal.write(bytes.as_bytes())?;
        self.terminal.leave();
        Ok(())
    }

    pub(super) fn take_back(&mut self) -> io::Result<()> {
        self.terminal.resume()?;
        let (columns, rows) = Terminal::size();
        if (columns, rows) != self.app.size() {
            self.resized = Some(Resized {
                size: (columns, rows),
                settled: Instant::now(),
            });
        }
        Ok(())
    }
}

fn failure(error: &dyn std::fmt::Display) -> Input {
    Input::Note {
        text: error.to_string(),
        is_error: true,
    }
}

fn invoked(data: InvokedData) -> Vec<Input> {
    let mut inputs = Vec::new();
    if let Some(error) = data.error {
        inputs.push(Input::Note {
            text: format!("{}: {error}", data.extension),
            is_error: true,
        });
    }
    if let Some(text) = data.display {
        inputs.push(Input::Note {
            text,
            is_error: false,
        });
    }
    if let Some(panel) = data.open_panel {
        inputs.push(Input::PanelOpened(PanelView {
            extension: data.extension,
            id: panel.id,
            title: panel.content.title,
            lines: panel.content.lines,
            footer: panel.content.footer,
        }));
    }
    inputs.extend(data.insert.map(Input::Insert));
    let prompt = data.prompt.map(Prompt::made);
    inputs.extend(prompt.map(Input::Prompt));
    inputs
}
