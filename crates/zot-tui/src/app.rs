//! The state of the chat: its components, the inputs that change them, and the resulting effects.
//!
//! Pure: [`App::update`] takes an input and the time and returns effects for [`crate::run`] to carry
//! out; [`App::frame`] returns what the screen looks like. Each component changes only its own state
//! and returns [actions](action::Action) for the rest; `app.rs`, `routing.rs` and `events.rs` pass
//! them on.

mod action;
mod approvals;
mod commands;
mod composer;
mod context;
mod effect;
mod events;
mod frame;
mod input;
mod key;
mod keymap;
mod login;
mod mcp;
mod panels;
mod picker;
mod questions;
mod routing;
mod status;
#[cfg(test)]
mod tests;
mod transcript;

use zot_sdk::ApprovalScope;

use crate::editor::Edit;
use crate::pager::{self, Pager};
use crate::renderer::{Frame, Replaces};
use crate::style::Theme;

pub(crate) use approvals::{Approval, Approvals, StepLimit, step_count};
use commands::Commands;
pub(crate) use composer::{Composer, History, MAX_HISTORY_ENTRIES, ShellOutput};
pub(crate) use context::{Context, MIN_COLUMNS, MIN_ROWS};
pub(crate) use effect::{
    AgentEffect, Effect, ExtensionEffect, LoginEffect, LoginRequest, McpEffect, Prompt, Query,
    SessionEffect, SettingsEffect, ShellEffect, TerminalEffect,
};
pub(crate) use input::{
    FileList, Info, Input, Listed, LogAction, LoginInput, PanelInput, ShellInput,
};
pub(crate) use key::{Key, KeyCode};
use login::Login;
pub(crate) use mcp::{Mcp, McpInput, McpServer, McpState, ProjectAnswer, ProjectServers};
pub(crate) use panels::PanelView;
use panels::Panels;
use picker::Picker;
pub(crate) use picker::{Choices, PickerKind, Preview, PreviewBody, Subject};
pub(crate) use questions::{Asked, Questions};
#[cfg(test)]
use status::LEAVE_WINDOW_MS;
pub(crate) use status::{Retry, Status};
pub(crate) use transcript::{
    Arguments, Item, Log, Redraw, Tool, ToolState, Transcript, item_lines,
};
use transcript::{Redrawn, item_text};

pub(crate) struct App {
    pub(crate) context: Context,
    pub(crate) status: Status,
    pub(crate) transcript: Transcript,
    pub(crate) composer: Composer,
    pub(crate) picker: Picker,
    pub(crate) approvals: Approvals,
    pub(crate) questions: Questions,
    pub(crate) panels: Panels,
    pub(crate) login: Login,
    pub(crate) mcp: Mcp,
    /// Covers the whole chat while it is open.
    pub(crate) pager: Option<Pager>,
    commands: Commands,
}

impl App {
    pub(crate) fn new(
        theme: Theme,
        columns: usize,
        rows: usize,
        info: Info,
        history: History,
    ) -> Self {
        let mut context = Context {
            now_ms: 0,
            columns,
            rows,
            theme,
            info,
            is_plain: false,
        };
        context.set_size(columns, rows);
        let mut app = Self {
            context,
            status: Status::default(),
            transcript: Transcript::default(),
            composer: Composer::new(history),
            picker: Picker::default(),
            approvals: Approvals::default(),
            questions: Questions::default(),
            panels: Panels::default(),
            login: Login::default(),
            mcp: Mcp::default(),
            pager: None,
            commands: Commands::default(),
        };
        let info = &app.context.info;
        let greeting = Item::Greeting {
            version: info.version.clone(),
            location: format!("{} · {}", info.model, info.cwd),
        };
        app.transcript.keeps_scrollback = true;
        app.transcript.add(&app.context, greeting);
        app
    }

    /// Processes one input and returns the effects it causes.
    pub(crate) fn update(&mut self, now_ms: u64, input: Input) -> Vec<Effect> {
        self.context.now_ms = now_ms;
        self.status.expire_remark(&self.context);
        let mut effects = self.apply(input);
        let editor_rows = self.editor_rows();
        effects.extend(self.picker.request_preview(&self.context, editor_rows));
        effects.extend(self.composer.inspect_mentions());
        effects.extend(self.panels.measure(&self.context));
        self.approvals.lay_out(&self.context, &self.composer.editor);
        self.questions.lay_out(&self.context, &self.composer.editor);
        // The user must see a question before answering it.
        let is_asked = self.approvals.current.is_some()
            || self.questions.current.is_some()
            || self.mcp.project.is_some();
        if is_asked {
            self.pager = None;
        }
        effects
    }

    fn apply(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => return self.press(key),
            Input::Paste(text) => return self.paste(text),
            Input::Resized { columns, rows } => self.resize(columns, rows),
            Input::Background { is_light } if self.status.is_theme_guessed => {
                self.set_theme(match is_light {
                    true => Theme::LIGHT,
                    false => Theme::DARK,
                });
            }
            Input::Tick | Input::Cursor { .. } | Input::Background { .. } => {}
            Input::Line(line) => {
                let actions = self.questions.enter_line(&line);
                return self.carry_out(actions);
            }
            Input::Agent(event) => return self.handle_event(event),
            Input::WorkEnded => return self.end_work(),
            Input::Aside(event) => {
                let action = self.transcript.update_aside(&self.context, event);
                return self.carry_out(action);
            }
            Input::AsideEnded => return self.end_aside(),
            Input::Extension(notice) => return self.handle_notice(notice),
            Input::Commands(commands) => return self.set_commands(commands),
            Input::Panel(input) => {
                let actions = self.panels.update(input);
                return self.carry_out(actions);
            }
            Input::Image(drawing) => self.transcript.add_image(&self.context, drawing),
            Input::Info(info) => self.context.set_info(info),
            Input::Approval(scope) => return self.set_approval(scope),
            Input::Listed(listed) => return self.handle_listed(listed),
            Input::Login(input) => return self.handle_login(input),
            Input::Mcp(input) => return self.handle_mcp(input),
            Input::Shell(ShellInput::Progress(text)) => self.composer.shell.add_progress(&text),
            Input::Shell(ShellInput::Ended(output)) => {
                let actions = self.composer.end_shell(&self.context, output);
                return self.carry_out(actions);
            }
            Input::Mentions { names, parts } => self.composer.set_attachments(&names, parts),
            Input::Mentioned { content, parts } => self.composer.set_sent_parts(content, parts),
            Input::Preview { subject, preview } => self.picker.set_preview(subject, preview),
            Input::Imported(session) => return commands::open_imported(self, session),
            Input::Earlier { title, messages } => {
                self.transcript.add_earlier(&self.context, title, &messages);
            }
            Input::Theme(theme) => {
                self.set_theme(*theme);
                self.status.is_theme_guessed = false;
            }
            Input::Edited(text) => self.composer.set_edited(&text),
            Input::Insert(text) => self.composer.editor.apply(Edit::Insert(text)),
            Input::Prompt(prompt) => return self.submit(prompt, None),
            Input::Note {
                text,
                is_error: false,
            } => return self.note(text),
            Input::Note { text, .. } => return self.error(text),
            Input::Panicked(what) => {
                self.transcript.request_redraw(Redraw::Screen);
                return self.error(format!("internal error, but zot keeps running: {what}"));
            }
        }
        Vec::new()
    }

    fn handle_listed(&mut self, listed: Listed) -> Vec<Effect> {
        let (kind, choices) = match listed {
            Listed::Files(files) => {
                let FileList { files, is_complete } = files;
                self.picker.offer_files(&self.context, files, is_complete);
                return Vec::new();
            }
            Listed::ForkPoints(prompts) => return commands::offer_fork_points(self, prompts),
            Listed::Prompts(prompts) if prompts.is_empty() => {
                return self.remark("no prompts yet");
            }
            Listed::Sessions(sessions) if sessions.is_empty() => {
                return self.note("no sessions in this directory yet");
            }
            Listed::Skills(skills) if skills.is_empty() => {
                return self.note("no skills found: docs/skills.md explains where to put them");
            }
            Listed::Providers { providers, .. } if providers.is_empty() => {
                return self.note("no credentials are stored: nothing to remove");
            }
            Listed::Models(models) => (PickerKind::Models, Choices::named(models)),
            Listed::Prompts(prompts) => (PickerKind::Prompts, Choices::named(prompts)),
            Listed::Sessions(sessions) => (PickerKind::Sessions, Choices::named(sessions)),
            Listed::Skills(skills) => (PickerKind::Skills, skills.into_iter().collect()),
            Listed::Themes(themes) => (PickerKind::Themes, Choices::named(themes)),
            Listed::Providers { action, providers } => {
                let kind = match action {
                    LogAction::In => PickerKind::LogIn,
                    LogAction::Out => PickerKind::LogOut,
                };
                (kind, providers.into_iter().collect())
            }
        };
        self.offer(kind, choices)
    }

    fn handle_login(&mut self, input: LoginInput) -> Vec<Effect> {
        if let LoginInput::KeyRequested { .. }
        | LoginInput::StepShown { .. }
        | LoginInput::PageShown { .. } = input
        {
            self.picker.close();
            self.status.clear_remark();
        }
        let actions = self.login.update(input);
        let effects = self.carry_out(actions);
        match self.status.is_working() {
            true => effects,
            false => effects
                .into_iter()
                .chain(self.login.take_restart())
                .collect(),
        }
    }

    fn set_approval(&mut self, scope: ApprovalScope) -> Vec<Effect> {
        self.approvals.reset_allowed();
        let text = self.approvals.describe(&scope);
        self.context.info.approval = scope;
        self.note(text);
        // The list of settings shows the new state.
        match self.picker.is_open(PickerKind::Settings) {
            true => commands::show_settings(self, "confirm"),
            false => Vec::new(),
        }
    }

    /// Returns what the screen shows. Finished lines and images are returned only once; `above` is how
    /// many of the lines returned before are still on the screen.
    pub(crate) fn frame(&mut self, above: usize) -> Frame {
        let replaces = self.redraw(above);
        let output = self.transcript.take_output();
        Frame {
            replaces,
            out_of_order: output.out_of_order,
            finished: output.lines,
            images: output.images,
            columns: self.context.columns,
            ..frame::live_frame(self)
        }
    }

    fn redraw(&mut self, above: usize) -> Replaces {
        let Some(redraw) = self.transcript.take_redraw() else {
            return Replaces::Nothing;
        };
        let live_rows = match redraw {
            Redraw::Screen => frame::live_frame(self).live.len(),
            _ => 0,
        };
        let redrawn = self
            .transcript
            .redraw(&self.context, redraw, above, live_rows);
        match redrawn {
            Redrawn::Lines(replaces) => replaces,
            Redrawn::InPager(from_end) => {
                self.open_pager(Some(from_end));
                Replaces::Nothing
            }
        }
    }

    /// Returns what the pager shows, if it is open.
    pub(crate) fn pager_frame(&mut self) -> Option<pager::Screen> {
        let pager = self.pager.as_mut()?;
        let arriving = self.transcript.arriving(&self.context);
        pager.update(&self.transcript.log, arriving, &self.context.theme);
        Some(pager::screen(pager, &self.context.theme))
    }

    /// Returns how long until the screen changes without any input.
    pub(crate) fn next_tick_ms(&self) -> Option<u64> {
        let is_working = self.status.is_working()
            || self.transcript.aside.is_some()
            || self.composer.shell.running.is_some();
        let working = is_working.then_some(status::SPINNER_MS);
        let remark = self.status.next_tick_ms(&self.context);
        let preview = self.picker.next_tick_ms(&self.context);
        working.into_iter().chain(remark).chain(preview).min()
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        (self.context.columns, self.context.rows)
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        if self.transcript.clears_scrollback_at(&self.context, columns) {
            self.transcript.request_redraw(Redraw::Everything);
        }
        self.context.set_size(columns, rows);
        self.transcript.rewrap_aside(&self.context);
        if let Some(pager) = &mut self.pager {
            let size = (self.context.columns, self.context.rows);
            pager.resize(&self.transcript.log, size, &self.context.theme);
        }
    }

    /// Returns whether changing to this width clears the terminal's scrollback.
    pub(crate) fn clears_scrollback_at(&self, columns: usize) -> bool {
        self.transcript.clears_scrollback_at(&self.context, columns)
    }

    fn set_theme(&mut self, theme: Theme) {
        if self.context.theme != theme {
            self.context.theme = theme;
            self.transcript.rewrap_aside(&self.context);
            self.transcript.request_redraw(Redraw::Visible);
        }
    }

    fn end_work(&mut self) -> Vec<Effect> {
        self.approvals.end();
        self.questions.end();
        self.composer.end_steering();
        self.status.hide_remark(&self.context);
        self.settle();
        match self.composer.next_queued() {
            Some((prompt, draft)) => self.submit(prompt, draft),
            None => Vec::from_iter(self.login.take_restart()),
        }
    }

    /// Ends the chat: unfinished output is kept, queued prompts are dropped.
    pub(crate) fn shut_down(&mut self) {
        self.status.cancel_work();
        self.composer.clear_queue();
        self.settle();
    }

    fn settle(&mut self) {
        self.transcript.settle(&self.context);
        let stopped = self.status.end_work();
        self.carry_out(stopped);
    }
}
