//! Does what the state asks for.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use zot_sdk::{ApprovalPolicy, Image, PanelAction};

use super::previews::Sources;
use super::{Chat, editor_program, exports, files, history_file, listings, own_program, themes};
use crate::app::{Effect, FileList, Input, Prompt, SESSION};

/// What the clipboard sequence of terminals can carry.
///
/// Limit: only the beginning is copied.
const MAX_COPIED_BYTES: usize = 74_000;

impl Chat {
    /// What comes of an effect at once is returned.
    pub(super) fn perform(&mut self, effect: Effect) -> io::Result<Vec<Input>> {
        let failed = |error: &dyn std::fmt::Display| vec![Input::failure(error)];
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
                // A name that is mistyped must not stop the asking about everything else.
                if let Some(unknown) = listings::unknown_tools(&self.runtime, &scope) {
                    return Ok(failed(&unknown));
                }
                let policy = self.runtime.approval();
                self.runtime.set_approval(ApprovalPolicy {
                    scope: scope.clone(),
                    ..policy
                });
                vec![Input::Approval(scope)]
            }
            Effect::Jail => self.jail(),
            Effect::Unjail => self.unjail(),
            Effect::ListSessions => vec![self.list_sessions()],
            Effect::Zot(words) => {
                let file = self.session_file();
                if file.is_none() && words.iter().any(|word| word == SESSION) {
                    return Ok(failed(&match self.runtime.session() {
                        Some(_) => "nothing of this conversation is on disk yet",
                        None => "this conversation is kept nowhere (--no-session)",
                    }));
                }
                let cwd = self.runtime.cwd().to_owned();
                self.jobs
                    .spawn(async move { vec![own_program::ask(&cwd, words, file).await] });
                Vec::new()
            }
            Effect::Export(name) => match exports::destination(self.runtime.cwd(), &name) {
                Ok(path) => {
                    let path = path.display().to_string();
                    let words = ["sessions", "export", SESSION, "--output", &path];
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
            Effect::LogIn(words) => self.log(words)?,
            Effect::TryKey(key) => {
                self.try_key(key);
                Vec::new()
            }
            Effect::EndKeyEntry => {
                self.login = None;
                Vec::new()
            }
            Effect::ListForkPoints => {
                vec![Input::ForkPoints(listings::prompts(&self.runtime))]
            }
            Effect::KeepSetting { name, value } => Vec::from_iter(self.keep_setting(name, &value)),
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
            Effect::InspectMentions { text, names } => {
                let runtime = Arc::clone(&self.runtime);
                self.jobs.spawn_blocking(move || {
                    let parts = runtime.attach_mentions(&text).parts;
                    vec![Input::Mentions { names, parts }]
                });
                Vec::new()
            }
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
                    let problem = self.keep_setting("theme", &name);
                    let theme = Input::Theme(Box::new(theme));
                    std::iter::once(theme).chain(problem).collect()
                }
                Err(error) => failed(&error),
            },
            Effect::ShowTools => vec![listings::tools(&self.runtime)],
            Effect::Confirm { id, decision } => match self.runtime.confirm(&id, decision) {
                Ok(()) => Vec::new(),
                Err(error) => failed(&error),
            },
            Effect::AllowSteps(more) => {
                self.runtime.allow_steps(more);
                Vec::new()
            }
            Effect::SetModel(model) => match self.runtime.set_typed_model(&model) {
                Ok(unknown) => {
                    self.chosen_model = Some(model);
                    let note = self.keep_model();
                    std::iter::once(self.present_info())
                        .chain(unknown.map(Input::note))
                        .chain(note)
                        .collect()
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
            Effect::Invoke { name, arguments } => self.invoke(name, arguments),
            Effect::ReloadExtensions => self.reload_extensions(),
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
                panel,
                width,
                height,
            } => self.resize_panel(extension, panel, width, height),
            Effect::PanelClose { extension, panel } => self.end_panel(&extension, panel),
            Effect::Shell(command) => self.begin_shell(command),
            Effect::CancelShell => {
                if let Some((_, cancel)) = &self.shell {
                    cancel.cancel();
                }
                Vec::new()
            }
            Effect::OpenEditor(text) => {
                self.give_away(async move {
                    match editor_program::edit(&text).await {
                        Ok(text) => Input::Edited(text),
                        Err(error) => Input::failure(error),
                    }
                })?;
                Vec::new()
            }
            Effect::Copy(_) if self.plain.is_some() => failed(&"this terminal cannot copy"),
            Effect::Copy(text) => {
                let end = text.floor_char_boundary(MAX_COPIED_BYTES.min(text.len()));
                let encoded = BASE64.encode(&text[..end]);
                self.terminal
                    .write(format!("\x1b]52;c;{encoded}\x07").as_bytes())?;
                vec![Input::note("copied (if the terminal allows it)")]
            }
            Effect::Remember(draft) => match &self.options.history {
                Some(path) => match history_file::append(path, &draft) {
                    Ok(()) => Vec::new(),
                    Err(error) => failed(&format!("{}: {error}", path.display())),
                },
                None => Vec::new(),
            },
            Effect::Suspend => {
                self.suspend()?;
                Vec::new()
            }
            // Whoever runs the chat does these.
            Effect::Resume { .. } | Effect::Fork { .. } | Effect::Quit => Vec::new(),
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
        let mentioned = (!attached.parts.is_empty()).then(|| Input::Mentioned {
            content: text.clone(),
            parts: attached.parts,
        });
        for output in outputs {
            text.push_str("\n\n");
            text.push_str(&output.told());
        }
        if !attached.text.is_empty() {
            text.push_str("\n\n");
            text.push_str(&attached.text);
        }
        (text, attached.images, Vec::from_iter(mentioned))
    }
}
