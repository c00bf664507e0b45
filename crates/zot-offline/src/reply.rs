//! The decision: what the stand-in says and which tools it calls, from the request alone.

use zot_conversation::{ContentBlock, Message, ModelRequest, Role, ToolResult};

use super::intent::understand;
use super::report::{report, report_unknown};
use super::step::Step;
use super::summary;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// A JSON object.
    pub(super) arguments: String,
}

pub(super) const WHO_I_AM: &str =
    "I am zot's offline stand-in, not a language model: I follow a few fixed rules.";

const WHAT_I_CAN_DO: &str = "I can do what these words ask for:

- list the files (in src, or: list the rust files)
- read README.md
- write \"some text\" to notes.txt
- run `some command`
- count the lines in README.md (or: words, files)
- explain src/main.rs
- call read {\"path\": \"README.md\"} (or any other tool there is)

Several can be joined by \"and\". For anything else, choose a real model with --provider and --model.";

/// What a compacted conversation begins with.
const COMPACTED: &str = "## Context Summary (compacted)";

const ID_PREFIX: &str = "offline_";

/// Answers a request. The same request always gets the same answer.
pub(super) fn answer(request: &ModelRequest<'_>) -> Reply {
    let messages: Vec<&Message> = request.messages.iter().map(AsRef::as_ref).collect();
    let first_user = messages.iter().find(|message| message.role == Role::User);
    if let Some(text) = first_user.map(|message| message.text())
        && text.trim_start().starts_with(summary::CONVERSATION)
    {
        return Reply {
            text: summary::summary(&text),
            calls: Vec::new(),
        };
    }
    let Some(asked) = last_prompt(&messages) else {
        return Reply {
            text: format!("{WHO_I_AM} {WHAT_I_CAN_DO}"),
            calls: Vec::new(),
        };
    };
    let (before, rest) = messages.split_at(asked);
    let Some((prompt, turn)) = rest.split_first() else {
        return Reply::default();
    };
    let mut text = Paragraphs::default();
    let (available, unavailable) = plan(request, prompt);
    let progress = Progress::of(turn);
    if progress.made == 0 {
        let met_before = before.iter().any(|message| message.role == Role::Assistant);
        opening(
            &mut text,
            prompt,
            met_before,
            available.is_empty(),
            &unavailable,
        );
    }
    for (index, result) in progress.latest.iter().enumerate() {
        text.add(match available.get(progress.reported + index) {
            Some(step) => report(step, result),
            None => report_unknown(result),
        });
    }
    let batch = next_batch(available.get(progress.made..).unwrap_or_default());
    if !batch.is_empty() {
        let doings: Vec<&str> = batch.iter().map(|step| step.doing.as_str()).collect();
        text.add(format!("I will {}.", joined(&doings)));
    }
    let first_id = next_id(&messages);
    let calls = batch.iter().enumerate().map(|(index, step)| Call {
        id: format!("{ID_PREFIX}{}", first_id.saturating_add(index)),
        name: step.tool.clone(),
        arguments: step.arguments.clone(),
    });
    Reply {
        calls: calls.collect(),
        text: text.0,
    }
}

/// The index of the last message a person wrote.
fn last_prompt(messages: &[&Message]) -> Option<usize> {
    messages.iter().rposition(|message| message.is_prompt())
}

/// The steps a prompt comes to: those that can be taken, and those whose tool is missing.
fn plan(request: &ModelRequest<'_>, prompt: &Message) -> (Vec<Step>, Vec<Step>) {
    let text = prompt.text();
    if text.starts_with(COMPACTED) {
        return (Vec::new(), Vec::new());
    }
    understand(&text)
        .intents
        .into_iter()
        .map(Step::new)
        .partition(|step| request.tools.iter().any(|tool| tool.name == step.tool))
}

/// How far the current turn has come.
struct Progress<'a> {
    /// Calls made since the prompt.
    made: usize,
    /// Of these, the ones whose results were already spoken of.
    reported: usize,
    /// The results that came last.
    latest: Vec<&'a ToolResult>,
}

impl<'a> Progress<'a> {
    fn of(turn: &[&'a Message]) -> Self {
        let made: usize = turn
            .iter()
            .map(|message| message.tool_calls().count())
            .sum();
        let last_calls = turn
            .iter()
            .rposition(|message| message.tool_calls().next().is_some());
        let behind = last_calls
            .and_then(|index| turn.get(index..))
            .unwrap_or_default();
        let latest: Vec<&ToolResult> = behind
            .iter()
            .flat_map(|message| message.tool_results())
            .collect();
        let in_last = behind
            .first()
            .map_or(0, |message| message.tool_calls().count());
        Self {
            made,
            reported: made - in_last,
            latest,
        }
    }
}

/// What is said before the first call, or instead of one.
fn opening(
    text: &mut Paragraphs,
    prompt: &Message,
    met_before: bool,
    nothing_to_do: bool,
    unavailable: &[Step],
) {
    let prompt_text = prompt.text();
    if prompt_text.starts_with(COMPACTED) {
        text.add(format!(
            "{WHO_I_AM} I have a summary of our conversation, but no request in it."
        ));
        return;
    }
    let understanding = understand(&prompt_text);
    let lost = understanding.intents.is_empty();
    if !met_before || lost {
        text.add(WHO_I_AM.to_owned());
    }
    let has_image = |block: &ContentBlock| matches!(block, ContentBlock::Image(_));
    if prompt.content.iter().any(has_image) {
        text.add("I cannot see images.".to_owned());
    }
    for step in unavailable {
        text.add(format!(
            "I would {} with the `{}` tool, but that tool is not available here.",
            step.doing, step.tool
        ));
    }
    if lost && understanding.not_understood {
        text.add("My rules do not cover what you asked.".to_owned());
    } else if understanding.not_understood && !nothing_to_do {
        text.add("My rules do not cover a part of what you asked; I do the rest.".to_owned());
    }
    if lost || (understanding.asks_for_help && nothing_to_do) {
        text.add(WHAT_I_CAN_DO.to_owned());
    }
}

/// Steps that only look are taken together; one that changes something is taken alone.
fn next_batch(steps: &[Step]) -> &[Step] {
    let looking = steps.iter().take_while(|step| step.only_looks()).count();
    steps.get(..looking.max(1)).unwrap_or_default()
}

/// Ids go on from the highest in the conversation, and past the number of calls in it.
fn next_id(messages: &[&Message]) -> usize {
    let calls = messages.iter().flat_map(|message| message.tool_calls());
    let (count, highest) = calls.fold((0, 0), |(count, highest), call| {
        let number = call.id.as_str().strip_prefix(ID_PREFIX);
        let number = number.and_then(|number| number.parse::<usize>().ok());
        (count + 1, number.unwrap_or(0).max(highest))
    });
    highest.max(count).saturating_add(1)
}

fn joined(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[derive(Default)]
struct Paragraphs(String);

impl Paragraphs {
    fn add(&mut self, paragraph: String) {
        if !self.0.is_empty() {
            self.0.push_str("\n\n");
        }
        self.0.push_str(&paragraph);
    }
}

#[cfg(test)]
mod tests;
