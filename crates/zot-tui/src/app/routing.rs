//! Routes keys, pastes and choices to components, and their actions to the others.

use super::action::{Action, Handled};
use super::approvals::Focus;
use super::commands::{self, Commands};
use super::composer::Entered;
use super::keymap::{Binding, binding};
use super::mcp;
use super::picker::{ChoiceKey, Chosen, Picked, session_id};
use super::{
    AgentEffect, App, Choices, Effect, Item, Key, KeyCode, PickerKind, Prompt, Query, Redraw,
    SessionEffect, SettingsEffect, TerminalEffect,
};
use crate::editor::{Draft, Edit};
use crate::pager::Reading;

impl App {
    /// Carries out actions between components and returns the effects among them.
    pub(super) fn carry_out(&mut self, actions: impl IntoIterator<Item = Action>) -> Vec<Effect> {
        let mut effects = Vec::new();
        for action in actions {
            match action {
                Action::Effect(effect) => effects.push(effect),
                Action::Add(item) => self.transcript.add(&self.context, item),
                Action::Remark(text) => self.status.show_remark(&self.context, text),
                Action::HideRemark => self.status.hide_remark(&self.context),
                Action::Redraw(redraw) => self.transcript.request_redraw(redraw),
                Action::Interrupt => effects.extend(self.interrupt()),
                Action::Started(id) => self.transcript.start_tool(&self.context, &id),
            }
        }
        effects
    }

    pub(super) fn press(&mut self, key: Key) -> Vec<Effect> {
        if key != Key::control('c') {
            self.status.cancel_leaving();
        }
        if let Handled::Yes(actions) = self.press_question(&key) {
            return self.carry_out(actions);
        }
        self.approvals.note_typing(&self.context);
        if let Some(pager) = &mut self.pager {
            if pager.press(&key) == Reading::Ended {
                self.pager = None;
            }
            return Vec::new();
        }
        if let Handled::Yes(actions) = self.panels.press(&self.context, &key) {
            return self.carry_out(actions);
        }
        let editor_rows = self.editor_rows();
        match self.picker.press(&self.context, &key, editor_rows) {
            Picked::Yes => Vec::new(),
            Picked::Chosen(chosen) => self.choose(chosen),
            Picked::Entered(chosen) => {
                let directory = format!("@{}", chosen.name);
                self.composer.complete_file(&chosen.query, &directory);
                self.complete()
            }
            Picked::No => match binding(&key) {
                Some(binding) => self.act(binding),
                None => Vec::new(),
            },
        }
    }

    /// Offers a key to the dialogs that must not be overlooked, before all else.
    fn press_question(&mut self, key: &Key) -> Handled {
        let handled = self.login.press(key);
        if let Handled::Yes(_) = handled {
            return handled;
        }
        let handled = self.mcp.press(&self.context, key);
        if let Handled::Yes(_) = handled {
            return handled;
        }
        let focus = self.focus();
        let handled = self.approvals.press_step_limit(&self.context, key, focus);
        if let Handled::Yes(_) = handled {
            return handled;
        }
        let editor = &self.composer.editor;
        let handled = self.approvals.press(&self.context, key, focus, editor);
        if let Handled::Yes(_) = handled {
            return handled;
        }
        if self.approvals.current.is_some() {
            return Handled::No;
        }
        let is_typing = self.approvals.is_typing(&self.context, focus);
        self.questions.press(key, is_typing)
    }

    fn focus(&self) -> Focus {
        match (self.panels.is_empty(), self.composer.editor.is_empty()) {
            (false, _) => Focus::Panel,
            (true, false) => Focus::Draft,
            (true, true) => Focus::EmptyEditor,
        }
    }

    /// Returns the height of the editor, which matters only to an open list.
    pub(super) fn editor_rows(&self) -> usize {
        match self.picker.list() {
            Some(_) => self.composer.rows(&self.context),
            None => 0,
        }
    }

    fn act(&mut self, binding: Binding) -> Vec<Effect> {
        match binding {
            Binding::Edit(edit) => return self.edit(edit),
            Binding::Enter => return self.enter(),
            Binding::Stop => return self.stop(),
            Binding::Interrupt => return self.interrupt(),
            Binding::DeleteOrLeave if self.composer.editor.is_empty() => return vec![Effect::Quit],
            Binding::DeleteOrLeave => return self.edit(Edit::Delete),
            Binding::Suspend => return vec![Effect::Terminal(TerminalEffect::Suspend)],
            Binding::Redraw => self.transcript.request_redraw(Redraw::Screen),
            Binding::ToggleFolding => self.transcript.toggle_folding(),
            Binding::OpenEditor => {
                return vec![Effect::Terminal(TerminalEffect::OpenEditor(
                    self.composer.editor.content(),
                ))];
            }
            Binding::Steer => return self.steer(),
            Binding::DetachOutput => {
                let remark = self.composer.shell.detach_output();
                return self.carry_out([remark]);
            }
            Binding::Unqueue => {
                self.composer.unqueue_last();
            }
            Binding::SearchHistory => return self.search_history(),
            Binding::Older => {
                if self.composer.older(&self.context) {
                    self.picker.close();
                }
            }
            Binding::Newer => {
                if self.composer.newer(&self.context) {
                    self.picker.close();
                }
            }
            Binding::PageBack => {
                self.open_pager(None);
                if let Some(pager) = &mut self.pager {
                    pager.press(&Key::plain(KeyCode::PageUp));
                }
            }
        }
        Vec::new()
    }

    fn edit(&mut self, edit: Edit) -> Vec<Effect> {
        self.composer.editor.apply(edit);
        self.complete()
    }

    /// Opens, narrows or closes the list that completes what is being typed.
    fn complete(&mut self) -> Vec<Effect> {
        let commands = || self.commands.choices();
        let effect = self.picker.complete(self.composer.completion(), commands);
        Vec::from_iter(effect)
    }

    fn enter(&mut self) -> Vec<Effect> {
        self.status.clear_remark();
        match self.composer.enter(&self.context) {
            Entered::LineBreak => self.complete(),
            Entered::Refused(reason) => self.remark(reason),
            Entered::Shell(effects) => {
                self.picker.close();
                effects
            }
            Entered::Text(draft, mut effects) => {
                self.picker.close();
                effects.extend(self.send(draft));
                effects
            }
        }
    }

    /// Runs a command, or sends a prompt. A mistyped command returns to the editor.
    fn send(&mut self, draft: Draft) -> Vec<Effect> {
        if draft.begins_pasted() {
            return self.submit_draft(draft);
        }
        let text = draft.content();
        if let Some(effects) = commands::run(self, &text) {
            return effects;
        }
        match self.commands.unknown(&text) {
            Some(remark) => {
                self.composer.editor.set(draft);
                self.remark(remark)
            }
            None => self.submit_draft(draft),
        }
    }

    fn stop(&mut self) -> Vec<Effect> {
        if self.transcript.aside.is_some() {
            self.end_aside();
            return vec![Effect::Agent(AgentEffect::CancelAside)];
        }
        let stopped = self.composer.shell.cancel();
        Vec::from_iter(stopped.or_else(|| self.status.cancel_work()))
    }

    fn interrupt(&mut self) -> Vec<Effect> {
        if self.status.interrupt(&self.context) {
            return vec![Effect::Quit];
        }
        if !self.composer.editor.is_empty() {
            self.composer.clear();
            self.picker.close();
        }
        let mut effects = Vec::from_iter(self.composer.shell.cancel());
        effects.extend(self.stop());
        effects
    }

    fn search_history(&mut self) -> Vec<Effect> {
        let choices = self.composer.history_choices();
        if choices.len() == 0 {
            return self.remark("the history is empty");
        }
        self.picker.close();
        self.offer(PickerKind::History, choices)
    }

    /// Sends a prompt, or queues it behind the running one.
    pub(super) fn submit(&mut self, prompt: Prompt, draft: Option<Draft>) -> Vec<Effect> {
        if prompt.text.trim().is_empty() {
            return Vec::new();
        }
        if self.status.is_working() || self.mcp.project.is_some() {
            let actions = self.composer.enqueue(prompt, draft);
            return self.carry_out(actions);
        }
        self.status.begin_work(&self.context, "thinking");
        if let Some(draft) = &draft {
            self.composer.remember_sent(draft);
        }
        vec![Effect::Agent(AgentEffect::Prompt(prompt))]
    }

    fn submit_draft(&mut self, draft: Draft) -> Vec<Effect> {
        let prompt = self.composer.prompt(&draft);
        self.submit(prompt, Some(draft))
    }

    /// Sends the text in the editor to the running prompt.
    fn steer(&mut self) -> Vec<Effect> {
        let Some((draft, mut effects)) = self.composer.take_draft() else {
            return Vec::new();
        };
        self.picker.close();
        match self.status.is_working() {
            true => effects.push(Effect::Agent(AgentEffect::Steer(
                self.composer.steer(&draft),
            ))),
            false => effects.extend(self.submit_draft(draft)),
        }
        effects
    }

    pub(super) fn paste(&mut self, text: String) -> Vec<Effect> {
        if let Handled::Yes(actions) = self.login.paste(&text) {
            return self.carry_out(actions);
        }
        if self.mcp.project.is_some() || self.approvals.paste(&text) || self.questions.paste(&text)
        {
            return Vec::new();
        }
        if let Some(effect) = self.panels.paste(&text) {
            return vec![effect];
        }
        if self.picker.takes_keys() {
            self.picker.paste(&text);
            return Vec::new();
        }
        self.status.cancel_leaving();
        if let Some(pager) = &mut self.pager {
            pager.paste(&text);
            return Vec::new();
        }
        self.composer.paste(text);
        // A paste is never meant as a command or the beginning of a name.
        self.picker.close();
        Vec::new()
    }

    pub(super) fn offer(&mut self, kind: PickerKind, choices: Choices) -> Vec<Effect> {
        self.picker.offer(&self.context, kind, choices);
        Vec::new()
    }

    /// Carries out what the user chose in a list.
    fn choose(&mut self, chosen: Chosen) -> Vec<Effect> {
        let Chosen { name, index, .. } = chosen;
        match chosen.kind {
            PickerKind::Models => vec![Effect::Agent(AgentEffect::SetModel(name))],
            PickerKind::Sessions => vec![Effect::Session(SessionEffect::Resume {
                session: session_id(&name),
            })],
            // The first point is the whole conversation.
            PickerKind::ForkPoints => vec![Effect::Session(SessionEffect::Fork {
                before: index.checked_sub(1),
            })],
            PickerKind::Settings => commands::change_setting(self, &name),
            PickerKind::Prompts => vec![Effect::Query(Query::Reprint(index))],
            PickerKind::History => {
                self.composer.recall(index);
                Vec::new()
            }
            PickerKind::Skills => self.edit(Edit::Insert(format!("use the skill {name}: "))),
            PickerKind::Themes => vec![Effect::Settings(SettingsEffect::LoadTheme(name))],
            PickerKind::Servers => mcp::offer_actions(self, &name),
            PickerKind::ServerActions => mcp::act_on_chosen(self, &name),
            PickerKind::LogIn => commands::log_in(self, &name),
            PickerKind::LogOut => commands::log_out(self, &name),
            PickerKind::Files => {
                let quoted = match name.contains(' ') {
                    true => format!("@\"{name}\" "),
                    false => format!("@{name} "),
                };
                self.composer.complete_file(&chosen.query, &quoted);
                Vec::new()
            }
            PickerKind::Commands => {
                self.composer.editor.set(format!("{name} "));
                match chosen.key {
                    // Runs a command that needs no arguments.
                    ChoiceKey::Enter => self.enter(),
                    ChoiceKey::Tab => Vec::new(),
                }
            }
        }
    }

    /// Opens the pager at the end, or at the item this far from the end of the log.
    pub(super) fn open_pager(&mut self, from_end: Option<usize>) {
        self.picker.close();
        self.pager = Some(self.transcript.open_pager(&self.context, from_end));
    }

    pub(super) fn remark(&mut self, text: impl Into<String>) -> Vec<Effect> {
        self.status.show_remark(&self.context, text);
        Vec::new()
    }

    pub(super) fn note(&mut self, text: impl Into<String>) -> Vec<Effect> {
        self.transcript.add(&self.context, Item::Note(text.into()));
        Vec::new()
    }

    pub(super) fn error(&mut self, text: impl Into<String>) -> Vec<Effect> {
        self.transcript.add(&self.context, Item::Error(text.into()));
        Vec::new()
    }

    /// Returns the effect, or refuses it while a prompt runs.
    pub(super) fn when_idle(&mut self, effect: impl Into<Effect>) -> Vec<Effect> {
        match self.status.is_working() {
            true => self.remark("zot is working: press esc first"),
            false => vec![effect.into()],
        }
    }

    pub(super) fn end_aside(&mut self) -> Vec<Effect> {
        if let Some(cost_usd) = self.transcript.end_aside(&self.context) {
            self.status.spending.add_aside(cost_usd);
        }
        Vec::new()
    }

    pub(super) fn set_commands(&mut self, commands: Vec<(String, String)>) -> Vec<Effect> {
        self.commands = Commands::complete(commands);
        // They may arrive while a command is being typed.
        match self.picker.is_open(PickerKind::Commands) {
            true => self.offer(PickerKind::Commands, self.commands.choices()),
            false => Vec::new(),
        }
    }
}
