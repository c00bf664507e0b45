//! What the chat is: a state, what changes it, and what has to be done about it.
//!
//! Pure: [`App::update`] takes an input and the time and returns effects for [`crate::run`] to carry
//! out; [`App::frame`] says what the screen looks like.

mod advice;
mod approval;
mod arguments;
mod aside;
mod attachments;
mod chat;
mod choices;
mod commands;
mod effect;
mod events;
mod history;
mod input;
mod item;
mod key_entry;
mod keys;
mod log;
mod panel;
mod picker;
mod picking;
mod preview;
mod queue;
mod reading;
mod redraw;
mod said;
mod settings;
mod shell;
mod step_limit;
#[cfg(test)]
mod tests;
mod work;

use std::collections::VecDeque;

use crate::editor::{Edit, Editor};
use crate::image::Drawing;
use crate::pager::Pager;
use crate::renderer::Frame;
use crate::style::Theme;
use crate::text::Line;
use crate::view;

use approval::Answered;
pub(crate) use approval::{Approval, ExactCalls};
pub(crate) use arguments::Arguments;
pub(crate) use aside::Aside;
use attachments::Attachments;
pub(crate) use chat::Chat;
pub(crate) use choices::{Choice, Choices};
pub(crate) use effect::{Effect, Prompt, SESSION};
pub(crate) use history::{History, MAX_HISTORY_ENTRIES as MAX_SENT_HISTORY_RECORDS};
pub(crate) use input::{FileList, Info, Input, LogAction};
pub(crate) use item::{Item, Tool, ToolState};
pub(crate) use key_entry::KeyEntry;
pub(crate) use keys::{Key, KeyCode};
pub(crate) use log::Log;
pub(crate) use panel::{Panel, PanelView};
pub(crate) use picker::{Picker, PickerKind};
pub(crate) use preview::{Preview, PreviewBody, Subject};
use queue::Queued;
use redraw::Redraw;
pub(crate) use said::Said;
use said::Sent;
use shell::Shell;
pub(crate) use shell::ShellOutput;
pub(crate) use step_limit::{StepLimit, steps};
pub(crate) use work::{Retry, Work};

/// A second ctrl+c within this time leaves.
pub(crate) const LEAVE_WINDOW_MS: u64 = 2_000;

/// How long a remark stays above the editor.
const REMARK_MS: u64 = 6_000;

/// On a smaller screen nothing could be read; it is drawn as if it had these.
pub(crate) const MIN_COLUMNS: usize = 10;
pub(crate) const MIN_ROWS: usize = 4;

/// Prompts that may wait for the running one.
///
/// Limit: the next prompt stays in the editor.
const MAX_QUEUED_PROMPTS: usize = 32;

pub(crate) struct App {
    pub(crate) theme: Theme,
    /// Nobody has chosen it.
    pub(crate) is_theme_guessed: bool,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) now_ms: u64,
    pub(crate) editor: Editor,
    pub(crate) history: History,
    pub(crate) chat: Chat,
    pub(crate) info: Info,
    pub(crate) work: Option<Work>,
    pub(crate) queued: VecDeque<Queued>,
    /// Words for the running prompt that it has not been given yet.
    pub(crate) steered: VecDeque<String>,
    pub(crate) shell: Shell,
    /// Prompts on their way, as they were written.
    sent: VecDeque<Sent>,
    /// What is mentioned in the editor.
    pub(crate) attachments: Attachments,
    pub(crate) approval: Option<Approval>,
    /// Calls that run side by side ask side by side: these come next.
    waiting_approvals: VecDeque<Approval>,
    exact_calls: ExactCalls,
    /// Whether zot may go on beyond a limit on steps.
    pub(crate) step_limit: StepLimit,
    answered: Answered,
    pub(crate) aside: Option<Aside>,
    /// A provider's key that is asked for; it takes everything that is typed.
    pub(crate) key_entry: Option<KeyEntry>,
    /// Other credentials are used once nothing is under way.
    is_login_due: bool,
    pub(crate) picker: Option<Picker>,
    /// Covers all of the chat.
    pub(crate) pager: Option<Pager>,
    /// Of extensions; the last is on top and takes the keys.
    pub(crate) panels: Vec<Panel>,
    /// When a key was pressed last that was no answer to a question.
    typed_ms: u64,
    pub(crate) remark: Option<(String, u64)>,
    /// Of extensions: name, description.
    pub(crate) extension_commands: Vec<(String, String)>,
    /// The extensions have started and said which those are.
    knows_commands: bool,
    files: Choices,
    leave_until_ms: u64,
    finished: Vec<Line>,
    /// So many of them, and what is above them, are not in the order of the log.
    mixed: usize,
    /// Each over the finished lines from this one on.
    images: Vec<(usize, Drawing)>,
    /// What is on the screen is not right any more.
    redraw: Option<Redraw>,
    /// Answers are printed as they come, and what the user types is on the screen already.
    pub(crate) is_plain: bool,
    /// A resize leaves what has been written alone.
    pub(crate) keeps_scrollback: bool,
}

impl App {
    pub(crate) fn new(
        theme: Theme,
        columns: usize,
        rows: usize,
        info: Info,
        history: History,
    ) -> Self {
        let mut app = Self {
            theme,
            is_theme_guessed: false,
            columns: columns.max(MIN_COLUMNS),
            rows: rows.max(MIN_ROWS),
            now_ms: 0,
            editor: Editor::default(),
            history,
            chat: Chat::default(),
            info,
            work: None,
            queued: VecDeque::new(),
            steered: VecDeque::new(),
            shell: Shell::default(),
            sent: VecDeque::new(),
            attachments: Attachments::default(),
            approval: None,
            waiting_approvals: VecDeque::new(),
            exact_calls: ExactCalls::default(),
            step_limit: StepLimit::default(),
            answered: Answered::default(),
            aside: None,
            key_entry: None,
            is_login_due: false,
            picker: None,
            pager: None,
            panels: Vec::new(),
            typed_ms: 0,
            remark: None,
            extension_commands: Vec::new(),
            knows_commands: false,
            files: Choices::default(),
            leave_until_ms: 0,
            finished: Vec::new(),
            mixed: 0,
            images: Vec::new(),
            redraw: None,
            is_plain: false,
            keeps_scrollback: true,
        };
        app.add(Item::Greeting {
            version: app.info.version.clone(),
            place: format!("{} · {}", app.info.model, app.info.cwd),
        });
        app
    }

    /// Takes one input.
    pub(crate) fn update(&mut self, now_ms: u64, input: Input) -> Vec<Effect> {
        let mut effects = self.take(now_ms, input);
        effects.extend(self.ask_preview());
        effects.extend(self.ask_attachments());
        effects.extend(self.measure_panels());
        self.lay_out_approval();
        self.close_pager_for_question();
        effects
    }

    fn take(&mut self, now_ms: u64, input: Input) -> Vec<Effect> {
        self.now_ms = now_ms;
        if self
            .remark
            .as_ref()
            .is_some_and(|(_, until)| *until <= now_ms)
        {
            self.remark = None;
        }
        match input {
            Input::Key(key) => self.press(key),
            Input::Paste(text) => self.paste(text),
            Input::Resized { columns, rows } => {
                self.resize(columns, rows);
                self.resize_pager();
                Vec::new()
            }
            Input::Agent(event) => self.take_event(event),
            Input::Extension(notice) => {
                self.take_notice(notice);
                Vec::new()
            }
            Input::Image(drawing) => {
                self.add_image(drawing);
                Vec::new()
            }
            Input::WorkEnded => self.end_work(),
            Input::Aside(event) => self.take_aside(event),
            Input::AsideEnded => self.end_aside(),
            Input::Info(info) => {
                // Only answers tell how much of the context is used.
                let context_used = self.info.context_used;
                self.info = Info {
                    context_used,
                    ..info
                };
                Vec::new()
            }
            Input::Approval(scope) => {
                self.take_approval(scope);
                // The list of settings shows how it is.
                match self.has_picker(PickerKind::Settings) {
                    true => self.show_settings("confirm"),
                    false => Vec::new(),
                }
            }
            Input::Tick | Input::Cursor { .. } | Input::Line(_) => Vec::new(),
            // What was found at first sight, after all was found already.
            Input::Files(files) if !files.is_whole && files.files.len() < self.files.len() => {
                Vec::new()
            }
            Input::Files(files) => {
                self.files = files.files;
                self.offer(PickerKind::Files, self.files.clone())
            }
            Input::Models(models) => self.offer(PickerKind::Models, Choices::named(models)),
            Input::Prompts(prompts) if prompts.is_empty() => {
                self.say("nothing was said yet");
                Vec::new()
            }
            Input::Sessions(sessions) if sessions.is_empty() => {
                self.note(
                    "there is no session of this directory yet".to_owned(),
                    false,
                );
                Vec::new()
            }
            Input::Sessions(sessions) => self.offer(PickerKind::Sessions, Choices::named(sessions)),
            Input::Skills(skills) if skills.is_empty() => {
                let text = "there are no skills: docs/skills.md says where to put some";
                self.note(text.to_owned(), false);
                Vec::new()
            }
            Input::Skills(skills) => self.offer(PickerKind::Skills, skills.into_iter().collect()),
            Input::Themes(themes) => self.offer(PickerKind::Themes, Choices::named(themes)),
            Input::Providers { providers, .. } if providers.is_empty() => {
                self.note(
                    "no key is kept: there is nothing to take away".to_owned(),
                    false,
                );
                Vec::new()
            }
            Input::Providers { action, providers } => {
                let kind = match action {
                    LogAction::In => PickerKind::LogIn,
                    LogAction::Out => PickerKind::LogOut,
                };
                self.offer(kind, providers.into_iter().collect())
            }
            Input::Mentions { names, parts } => {
                self.take_attachments(&names, parts);
                Vec::new()
            }
            Input::Mentioned { content, parts } => {
                self.take_mentioned(content, parts);
                Vec::new()
            }
            Input::Preview { subject, preview } => self.take_preview(subject, preview),
            Input::KeyAsked { provider, page } => {
                self.ask_key(provider, page);
                Vec::new()
            }
            Input::KeyRefused(reason) => {
                self.refuse_key(reason);
                Vec::new()
            }
            Input::KeyPageClosed => {
                if let Some(entry) = &mut self.key_entry {
                    entry.page = None;
                }
                Vec::new()
            }
            Input::LoggedIn => self.take_login(),
            Input::ForkPoints(prompts) => self.offer_fork_points(prompts),
            Input::Imported(session) => self.take_imported(session),
            Input::Prompts(prompts) => self.offer(PickerKind::Prompts, Choices::named(prompts)),
            Input::Earlier { title, messages } => {
                self.note(title, false);
                let items = item::items(&messages);
                self.chat.remember_answer(&items);
                for item in items {
                    self.add(item);
                }
                Vec::new()
            }
            Input::Commands(commands) => {
                self.extension_commands = commands;
                self.knows_commands = true;
                // They may come while one of them is being written.
                match self.has_picker(PickerKind::Commands) {
                    true => self.offer(PickerKind::Commands, self.command_choices()),
                    false => Vec::new(),
                }
            }
            Input::Background { is_light } => {
                if self.is_theme_guessed {
                    self.set_theme(match is_light {
                        true => Theme::LIGHT,
                        false => Theme::DARK,
                    });
                }
                Vec::new()
            }
            Input::Theme(theme) => {
                self.set_theme(*theme);
                self.is_theme_guessed = false;
                Vec::new()
            }
            Input::Edited(text) => {
                let text = text.trim_end_matches('\n');
                if text != self.editor.content() {
                    self.editor.set_edited(text.to_owned());
                }
                Vec::new()
            }
            Input::ShellProgress(text) => {
                self.take_shell_progress(&text);
                Vec::new()
            }
            Input::ShellEnded(output) => {
                self.end_shell(output);
                Vec::new()
            }
            Input::Note { text, is_error } => {
                self.note(text, is_error);
                Vec::new()
            }
            Input::Insert(text) => {
                self.editor.apply(Edit::Insert(text));
                Vec::new()
            }
            Input::Panicked(what) => {
                self.ask_redraw(Redraw::Screen);
                self.note(format!("a bug in zot, which goes on: {what}"), true);
                Vec::new()
            }
            Input::PanelOpened(view) => self.open_panel(view),
            Input::PanelLost {
                extension,
                panel,
                reason,
            } => {
                self.close_panel(&extension, &panel);
                self.note(reason, true);
                Vec::new()
            }
            Input::Prompt(prompt) => self.submit(prompt),
        }
    }

    fn paste(&mut self, text: String) -> Vec<Effect> {
        if self.paste_key(&text) {
            return Vec::new();
        }
        if self.paste_refusal(&text) {
            return Vec::new();
        }
        if let Some(effects) = self.paste_into_panel(&text) {
            return effects;
        }
        if self.has_keys() {
            return self.filter_by(&text);
        }
        self.stay();
        if let Some(pager) = &mut self.pager {
            pager.paste(&text);
            return Vec::new();
        }
        self.editor.apply(Edit::Paste(text));
        // Nothing in it is meant as a command or the beginning of a name.
        self.picker = None;
        Vec::new()
    }

    /// What the screen is to look like. Finished lines and images are given once. `above` says
    /// how many of those given before are on the screen still.
    pub(crate) fn frame(&mut self, above: usize) -> Frame {
        let replaces = self.redraw(above);
        Frame {
            replaces,
            mixed: std::mem::take(&mut self.mixed),
            finished: std::mem::take(&mut self.finished),
            images: std::mem::take(&mut self.images),
            columns: self.columns,
            ..view::frame(self)
        }
    }

    /// When the screen changes by itself next.
    pub(crate) fn next_tick_ms(&self) -> Option<u64> {
        let is_working =
            self.work.is_some() || self.aside.is_some() || self.shell.running.is_some();
        let working = is_working.then_some(view::SPINNER_MS);
        let remark = self
            .remark
            .as_ref()
            .map(|(_, until)| until.saturating_sub(self.now_ms).max(1));
        let preview = self.preview_tick_ms();
        working.into_iter().chain(remark).chain(preview).min()
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    fn end_work(&mut self) -> Vec<Effect> {
        self.approval = None;
        self.step_limit = StepLimit::default();
        self.waiting_approvals.clear();
        self.steered.clear();
        // That zot is working, say.
        self.forget_remark();
        self.settle();
        match self.submit_queued() {
            Some(effects) => effects,
            None if std::mem::take(&mut self.is_login_due) => {
                vec![Effect::Resume { session: None }]
            }
            None => Vec::new(),
        }
    }

    /// The user leaves: what was unfinished is finished as it is, and nothing comes next.
    pub(crate) fn wind_up(&mut self) {
        if let Some(work) = &mut self.work {
            work.cancelling = true;
        }
        self.queued.clear();
        self.settle();
    }

    /// A remark above the editor, for a while.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.say_for(REMARK_MS, text);
    }

    fn say_for(&mut self, time_ms: u64, text: impl Into<String>) {
        self.remark = Some((text.into(), self.now_ms + time_ms));
    }

    /// What it was about is over; that another ctrl+c leaves is not.
    fn forget_remark(&mut self) {
        if self.leave_until_ms <= self.now_ms {
            self.remark = None;
        }
    }

    /// A note that stays.
    pub(crate) fn note(&mut self, text: String, is_error: bool) {
        let item = match is_error {
            true => Item::Error(text),
            false => Item::Note(text),
        };
        self.add(item);
    }

    pub(crate) fn add(&mut self, item: Item) {
        let lines = self.lines_of(&item);
        self.chat.log.keep(item, lines.len());
        // The log has the answer when it is whole, so this comes before it there.
        self.chat.is_mixed |= !self.chat.answer.is_empty();
        self.finish(lines);
    }

    /// Lines that will not change any more.
    fn finish(&mut self, lines: Vec<Line>) {
        self.finished.extend(lines);
        if self.chat.is_mixed {
            self.mixed = self.finished.len();
        }
    }

    fn add_image(&mut self, drawing: Drawing) {
        // The screen may have become narrower meanwhile.
        if drawing.columns <= self.columns {
            let place = self.finished.len();
            self.add(Item::Image(drawing.again()));
            self.chat.log.limit_images();
            self.images.push((place, drawing));
        }
    }

    fn lines_of(&self, item: &Item) -> Vec<Line> {
        view::item(item, self.columns, &self.theme, self.chat.expanded)
    }
}
