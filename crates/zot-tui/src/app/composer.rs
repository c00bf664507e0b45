//! The prompt being written, and those that are queued or sent.

mod attachments;
mod history;
mod queue;
mod sent;
mod shell;
mod view;

use zot_sdk::context::Part;

use super::action::Action;
use super::login::may_hold_key;
use super::picker::Completion;
use super::{Choices, Context, Effect, Prompt};
use crate::editor::{Draft, Edit, Editor};

use attachments::Attachments;
pub(crate) use history::{History, MAX_HISTORY_ENTRIES};
use queue::Queue;
pub(crate) use sent::Sent;
use sent::SentPrompts;
use shell::Shell;
pub(crate) use shell::ShellOutput;
pub(super) use view::{editor, queue};

/// How many characters of each prompt a history search covers.
const MAX_SEARCHED_CHARACTERS: usize = 2_000;

#[derive(Debug, Default)]
pub(crate) struct Composer {
    pub(crate) editor: Editor,
    history: History,
    queue: Queue,
    sent: SentPrompts,
    attachments: Attachments,
    pub(crate) shell: Shell,
}

/// What the enter key did.
#[derive(Debug)]
pub(crate) enum Entered {
    /// A line break was inserted.
    LineBreak,
    /// Nothing was sent, for this reason.
    Refused(&'static str),
    /// A `!command` has started.
    Shell(Vec<Effect>),
    /// A command or a prompt, with the effects that save it in the history.
    Text(Draft, Vec<Effect>),
}

impl Composer {
    pub(super) fn new(history: History) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    pub(super) fn paste(&mut self, text: String) {
        self.editor.apply(Edit::Paste(text));
    }

    /// Replaces the text with what `$EDITOR` saved.
    pub(super) fn set_edited(&mut self, text: &str) {
        let text = text.trim_end_matches('\n');
        if text != self.editor.content() {
            self.editor.set_edited(text.to_owned());
        }
    }

    pub(super) fn clear(&mut self) {
        if !self.editor.is_empty() {
            self.editor.set("");
            self.history.stop_browsing();
        }
    }

    /// Handles enter: takes the text to send or run, or inserts a line break.
    pub(super) fn enter(&mut self, context: &Context) -> Entered {
        // A backslash at the end continues the line, in terminals without shift+enter.
        if self.editor.before_cursor().ends_with('\\') {
            self.editor.apply(Edit::Backspace);
            self.editor.apply(Edit::Newline);
            return Entered::LineBreak;
        }
        let command = match self.editor.begins_pasted() {
            true => None,
            false => self.editor.text().strip_prefix('!'),
        };
        if command.is_some_and(|command| command.trim().is_empty()) {
            return Entered::Refused("! takes a command: !ls");
        }
        let is_shell = command.is_some();
        if is_shell && self.shell.running.is_some() {
            return Entered::Refused("a command is running: esc stops it");
        }
        let draft = self.editor.take();
        let mut effects = match may_hold_key(&draft.content()) {
            true => Vec::new(),
            false => self.remember(&draft),
        };
        if !is_shell {
            return Entered::Text(draft, effects);
        }
        let text = draft.content();
        effects.push(self.shell.start(context, text[1..].trim()));
        Entered::Shell(effects)
    }

    /// Takes the text that steers the running prompt.
    pub(super) fn take_draft(&mut self) -> Option<(Draft, Vec<Effect>)> {
        if self.editor.is_blank() {
            return None;
        }
        let draft = self.editor.take();
        let effects = self.remember(&draft);
        Some((draft, effects))
    }

    fn remember(&mut self, draft: &Draft) -> Vec<Effect> {
        match self.history.push(draft) {
            true => vec![Effect::Remember(draft.clone())],
            false => Vec::new(),
        }
    }

    /// Builds the prompt for a draft, with the output of `!commands` attached.
    pub(super) fn prompt(&mut self, draft: &Draft) -> Prompt {
        Prompt {
            mentions: draft.has_chips().then(|| draft.without_chips()),
            attached: std::mem::take(&mut self.shell.outputs),
            ..Prompt::typed(draft.content())
        }
    }

    /// Queues a prompt behind the running one. If the queue is full, the text returns to the editor.
    pub(super) fn enqueue(&mut self, prompt: Prompt, draft: Option<Draft>) -> Vec<Action> {
        match self.queue.push(prompt, draft) {
            Ok(()) => Vec::new(),
            Err(draft) => {
                self.editor.set(draft);
                let limit = queue::MAX_QUEUED_PROMPTS;
                vec![Action::remark(format!(
                    "the queue is full: {limit} prompts are waiting"
                ))]
            }
        }
    }

    /// Takes the prompt that has waited longest.
    pub(super) fn next_queued(&mut self) -> Option<(Prompt, Option<Draft>)> {
        self.queue.pop()
    }

    /// Puts a prompt at the front of the queue.
    pub(super) fn enqueue_first(&mut self, prompt: Prompt) {
        self.queue.push_front(prompt);
    }

    /// Records text on its way to the running prompt, and returns it as a prompt.
    pub(super) fn steer(&mut self, draft: &Draft) -> Prompt {
        self.queue.steer(draft.content());
        self.sent.remember(draft);
        self.prompt(draft)
    }

    /// Forgets the steering text of a prompt that has ended.
    pub(super) fn end_steering(&mut self) {
        self.queue.end_steering();
    }

    pub(super) fn clear_queue(&mut self) {
        self.queue.clear();
    }

    /// Moves the last queued prompt into the editor, above the text that is already there.
    pub(super) fn unqueue_last(&mut self) -> bool {
        let Some((prompt, draft)) = self.queue.pop_last() else {
            return false;
        };
        let current = self.editor.draft();
        self.editor.set(draft);
        if !current.is_blank() {
            self.editor.append_line(current);
        }
        // The output of `!commands` is attached to the next prompt again.
        self.shell.outputs.extend(prompt.attached);
        true
    }

    /// Remembers how a prompt was written when it is sent.
    pub(super) fn remember_sent(&mut self, draft: &Draft) {
        self.sent.remember(draft);
    }

    /// Records the files mentioned by the prompt that begins with `content`.
    pub(super) fn set_sent_parts(&mut self, content: String, parts: Vec<Part>) {
        self.sent.set_parts(content, parts);
    }

    /// Returns what was remembered about a user message when it was sent.
    pub(super) fn take_sent(&mut self, text: &str) -> Option<Sent> {
        self.queue.remove_delivered(text);
        self.sent.take(text)
    }

    /// Moves up within the text, then to the last queued prompt, then to older ones. Returns whether
    /// the history was browsed.
    pub(super) fn older(&mut self, context: &Context) -> bool {
        if self
            .editor
            .move_row(-1, view::editor_columns(context.columns))
        {
            return false;
        }
        if self.editor.is_empty() && self.unqueue_last() {
            return false;
        }
        match self.history.older(self.editor.draft()) {
            Some(draft) => self.editor.set(draft),
            None => self.editor.apply(Edit::TextStart),
        }
        true
    }

    /// Moves down within the text, then to newer prompts. Returns whether the history was browsed.
    pub(super) fn newer(&mut self, context: &Context) -> bool {
        if self
            .editor
            .move_row(1, view::editor_columns(context.columns))
        {
            return false;
        }
        match self.history.newer(self.editor.draft()) {
            Some(draft) => self.editor.set(draft),
            None => self.editor.apply(Edit::TextEnd),
        }
        true
    }

    /// Returns the prompts of the history, newest first.
    pub(super) fn history_choices(&self) -> Choices {
        let drafts = self.history.newest_first().into_iter();
        let title = |draft: &Draft| -> String {
            draft
                .title()
                .chars()
                .take(MAX_SEARCHED_CHARACTERS)
                .collect()
        };
        Choices::named(drafts.map(title))
    }

    /// Puts a prompt of the history into the editor, by its index in [`Self::history_choices`].
    pub(super) fn recall(&mut self, index: usize) {
        let found = self.history.newest_first().get(index).copied().cloned();
        if let Some(draft) = found {
            self.editor.set(draft);
        }
    }

    /// Returns what a list can complete at the cursor.
    pub(super) fn completion(&self) -> Completion {
        let before = self.editor.before_cursor();
        let command = match self.editor.begins_pasted() {
            true => None,
            false => command_query(before),
        };
        match (command, file_query(before)) {
            (Some(query), _) => Completion::Command(query.to_owned()),
            (None, Some(query)) => Completion::File(query.to_owned()),
            (None, None) => Completion::Nothing,
        }
    }

    /// Replaces a file query before the cursor, including its `@`.
    pub(super) fn complete_file(&mut self, query: &str, text: &str) {
        self.editor.replace_before(query.len() + 1, text);
    }

    /// Queries the mentioned files when the mentions have changed.
    pub(super) fn inspect_mentions(&mut self) -> Option<Effect> {
        self.attachments.inspect(&self.editor)
    }

    pub(super) fn set_attachments(&mut self, names: &[String], parts: Vec<Part>) {
        self.attachments.set_parts(names, parts);
    }

    /// Ends the running `!command`.
    pub(super) fn end_shell(&mut self, context: &Context, output: ShellOutput) -> Vec<Action> {
        match self.shell.end(context, output) {
            Some(item) => vec![Action::HideRemark, Action::Add(item)],
            None => Vec::new(),
        }
    }

    /// Returns how many rows the editor takes.
    pub(super) fn rows(&self, context: &Context) -> usize {
        view::editor(&self.editor, context).0.len()
    }
}

/// Returns the command being typed: a leading slash and no space yet.
fn command_query(before: &str) -> Option<&str> {
    (before.starts_with('/') && !before.contains(char::is_whitespace)).then_some(before)
}

/// Returns the file being typed: an `@` that begins a word.
fn file_query(before: &str) -> Option<&str> {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    // The whitespace may be longer than a byte.
    let word = before
        .get(start..)
        .or_else(|| before.split_whitespace().last())?;
    // Files outside the working directory are not listed, and a wrong one might match.
    let elsewhere = ["\"", "/", "~", "./", "../"];
    word.strip_prefix('@')
        .filter(|query| !elsewhere.iter().any(|start| query.starts_with(start)))
}
