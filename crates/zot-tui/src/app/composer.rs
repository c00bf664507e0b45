//! The prompt that is being written, and those that were sent or wait.

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

/// Characters of each prompt that a search of the history looks at.
const MAX_SEARCHED: usize = 2_000;

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
    /// A command or a prompt, and how it is remembered.
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
            self.history.leave();
        }
    }

    /// Takes what is written, to be sent, a command to be run or a line break.
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

    /// Takes what is written for the prompt that runs.
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

    /// The prompt for what was written, with the output of `!commands`.
    pub(super) fn prompt(&mut self, draft: &Draft) -> Prompt {
        Prompt {
            mentions: draft.has_chips().then(|| draft.without_chips()),
            attached: std::mem::take(&mut self.shell.outputs),
            ..Prompt::typed(draft.content())
        }
    }

    /// Lets a prompt wait for the running one. When too many wait, it returns to the editor.
    pub(super) fn enqueue(&mut self, prompt: Prompt, draft: Option<Draft>) -> Vec<Action> {
        match self.queue.push(prompt, draft) {
            Ok(()) => Vec::new(),
            Err(draft) => {
                self.editor.set(draft);
                let most = queue::MAX_QUEUED_PROMPTS;
                vec![Action::remark(format!("{most} prompts are queued already"))]
            }
        }
    }

    /// Takes the prompt that waited longest.
    pub(super) fn next_queued(&mut self) -> Option<(Prompt, Option<Draft>)> {
        self.queue.pop()
    }

    /// A prompt comes before those that wait.
    pub(super) fn enqueue_first(&mut self, prompt: Prompt) {
        self.queue.push_first(prompt);
    }

    /// The running prompt receives this text soon.
    pub(super) fn steer(&mut self, draft: &Draft) -> Prompt {
        self.queue.steer(draft.content());
        self.sent.remember(draft);
        self.prompt(draft)
    }

    /// Forgets what was meant for the prompt that has ended.
    pub(super) fn end_steering(&mut self) {
        self.queue.end_steering();
    }

    pub(super) fn clear_queue(&mut self) {
        self.queue.clear();
    }

    /// Moves the prompt that was queued last into the editor; what is written already stays below.
    pub(super) fn unqueue_last(&mut self) -> bool {
        let Some((prompt, draft)) = self.queue.pop_last() else {
            return false;
        };
        let written = self.editor.draft();
        self.editor.set(draft);
        if !written.is_blank() {
            self.editor.append_line(written);
        }
        // The output of `!commands` goes with the next prompt again.
        self.shell.outputs.extend(prompt.attached);
        true
    }

    /// Remembers how the prompt was written that is sent now.
    pub(super) fn remember_sent(&mut self, draft: &Draft) {
        self.sent.remember(draft);
    }

    /// The files that the prompt which begins with `content` mentions.
    pub(super) fn set_sent_parts(&mut self, content: String, parts: Vec<Part>) {
        self.sent.set_parts(content, parts);
    }

    /// A user message has arrived; returns what is known of it from when it was sent.
    pub(super) fn take_sent(&mut self, text: &str) -> Option<Sent> {
        self.queue.delivered(text);
        self.sent.take(text)
    }

    /// Moves up within the text, then to older prompts; a waiting prompt is the nearest. Returns
    /// whether the text is another one.
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

    /// Moves down within the text, then to newer prompts. Returns whether the text is another one.
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

    /// The prompts of the history, newest first.
    pub(super) fn history_choices(&self) -> Choices {
        let drafts = self.history.newest_first().into_iter();
        let title =
            |draft: &Draft| -> String { draft.title().chars().take(MAX_SEARCHED).collect() };
        Choices::named(drafts.map(title))
    }

    /// Takes a prompt out of the history, by its place among the [choices](Self::history_choices).
    pub(super) fn recall(&mut self, index: usize) {
        let found = self.history.newest_first().get(index).copied().cloned();
        if let Some(draft) = found {
            self.editor.set(draft);
        }
    }

    /// What a list can complete at the cursor.
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

    /// Replaces a file's query before the cursor, with its `@`.
    pub(super) fn complete_file(&mut self, query: &str, text: &str) {
        self.editor.replace_before(query.len() + 1, text);
    }

    /// Asks about the files that are mentioned, when they have changed.
    pub(super) fn inspect_mentions(&mut self) -> Option<Effect> {
        self.attachments.inspect(&self.editor)
    }

    pub(super) fn set_attachments(&mut self, names: &[String], parts: Vec<Part>) {
        self.attachments.set_parts(names, parts);
    }

    /// The running `!command` has ended.
    pub(super) fn end_shell(&mut self, context: &Context, output: ShellOutput) -> Vec<Action> {
        match self.shell.end(context, output) {
            Some(item) => vec![Action::HideRemark, Action::Add(item)],
            None => Vec::new(),
        }
    }

    /// How many rows of the screen the editor takes.
    pub(super) fn rows(&self, context: &Context) -> usize {
        view::editor(&self.editor, context).0.len()
    }
}

/// A command that is being written: a slash at the beginning and no blank yet.
fn command_query(before: &str) -> Option<&str> {
    (before.starts_with('/') && !before.contains(char::is_whitespace)).then_some(before)
}

/// A file that is being written: an `@` that begins a word.
fn file_query(before: &str) -> Option<&str> {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    // The blank may be wider than a byte.
    let word = before
        .get(start..)
        .or_else(|| before.split_whitespace().last())?;
    // Files elsewhere are not in the list, where a wrong one might match.
    let elsewhere = ["\"", "/", "~", "./", "../"];
    word.strip_prefix('@')
        .filter(|query| !elsewhere.iter().any(|start| query.starts_with(start)))
}
