//! What the stand-in responds and which tools it calls, from the request alone.

#[cfg(test)]
mod tests;

use zot_conversation::{ContentBlock, Message, ModelRequest, Role, ToolResult};

use crate::intent::{Intent, Shown, intents};
use crate::report::report;

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// A JSON object.
    pub(crate) arguments: String,
}

const INTRODUCTION: &str =
    "I am zot's offline stand-in, not a language model: I follow a few fixed rules.";

const HELP: &str = "These are the requests I understand:

- list the files
- read README.md
- count the lines in README.md
- write \"some text\" to notes.txt
- run `some command`
- call read {\"path\": \"README.md\"} (or any other tool)

Several in one line can be joined by \"and\". For anything else, choose a real model with --provider and --model.";

const ID_PREFIX: &str = "offline_";

/// What the text of a compaction begins with.
const COMPACTION: &str = "<conversation>";

/// Responds to a request. The same request always gets the same response.
pub(crate) fn reply(request: &ModelRequest<'_>) -> Reply {
    let messages: Vec<&Message> = request.messages.iter().map(AsRef::as_ref).collect();
    let prompt_index = messages.iter().rposition(|message| message.is_prompt());
    let (before, rest) = messages.split_at(prompt_index.unwrap_or(messages.len()));
    let (prompt, turn) = rest.split_at(rest.len().min(1));
    let prompt_text = prompt.first().map(|prompt| prompt.text());
    let prompt_text = prompt_text.unwrap_or_default();
    if prompt_text.starts_with(COMPACTION) {
        return Reply {
            text: format!("{INTRODUCTION} So I cannot summarise what was said before."),
            calls: Vec::new(),
        };
    }
    let has_tool = |intent: &Intent| request.tools.iter().any(|tool| tool.name == intent.tool);
    let (steps, missing): (Vec<Intent>, Vec<Intent>) =
        intents(&prompt_text).into_iter().partition(has_tool);
    let progress = Progress::of(turn);
    let mut paragraphs = Vec::new();
    if progress.made == 0 {
        let is_understood = !steps.is_empty() || !missing.is_empty();
        if !is_understood || !before.iter().any(|message| message.role == Role::Assistant) {
            paragraphs.push(INTRODUCTION.to_owned());
        }
        let mut blocks = prompt.iter().flat_map(|prompt| &prompt.content);
        if blocks.any(|block| matches!(block, ContentBlock::Image(_))) {
            paragraphs.push("I cannot see images.".to_owned());
        }
        paragraphs.extend(missing.iter().map(unavailable));
        if !is_understood {
            paragraphs.push(HELP.to_owned());
        }
    }
    let latest = progress.latest.iter().zip(progress.reported..);
    paragraphs.extend(latest.map(|(result, index)| report(steps.get(index), result)));
    let batch = next_batch(steps.get(progress.made..).unwrap_or_default());
    if !batch.is_empty() {
        let announced: Vec<&str> = batch.iter().map(|step| &*step.announcement).collect();
        paragraphs.push(format!("I will {}.", announced.join(" and ")));
    }
    Reply {
        calls: calls(batch, next_id(&messages)),
        text: paragraphs.join("\n\n"),
    }
}

/// How far the current turn has come.
struct Progress<'a> {
    /// Calls made since the prompt.
    made: usize,
    /// Calls whose results an earlier response reported.
    reported: usize,
    /// The results that came last.
    latest: Vec<&'a ToolResult>,
}

impl<'a> Progress<'a> {
    fn of(turn: &[&'a Message]) -> Self {
        let calls = |message: &Message| message.tool_calls().count();
        let made = turn.iter().map(|message| calls(message)).sum();
        let last = turn.iter().rposition(|message| calls(message) > 0);
        let last = last.and_then(|index| turn.get(index..)).unwrap_or_default();
        Self {
            made,
            reported: made - last.first().map_or(0, |message| calls(message)),
            latest: last
                .iter()
                .flat_map(|message| message.tool_results())
                .collect(),
        }
    }
}

/// Steps that only read are taken together; one that changes something is taken alone.
fn next_batch(steps: &[Intent]) -> &[Intent] {
    let only_reads = |step: &&Intent| {
        let shown = &step.shown;
        matches!(
            shown,
            Shown::Entries | Shown::Content(_) | Shown::LineCount(_)
        )
    };
    let reading = steps.iter().take_while(only_reads).count();
    steps.get(..reading.max(1)).unwrap_or_default()
}

fn unavailable(step: &Intent) -> String {
    format!(
        "I would {} with the `{}` tool, but that tool is not available here.",
        step.announcement, step.tool
    )
}

fn calls(batch: &[Intent], first_id: usize) -> Vec<Call> {
    let calls = batch.iter().zip(first_id..).map(|(step, id)| Call {
        id: format!("{ID_PREFIX}{id}"),
        name: step.tool.clone(),
        arguments: step.arguments.to_string(),
    });
    calls.collect()
}

/// Returns a number above every id in the conversation and above the number of calls in it.
fn next_id(messages: &[&Message]) -> usize {
    let calls = messages.iter().flat_map(|message| message.tool_calls());
    let (count, highest) = calls.fold((0, 0), |(count, highest), call| {
        let number = call.id.as_str().strip_prefix(ID_PREFIX);
        let number = number.and_then(|number| number.parse::<usize>().ok());
        (count + 1, number.unwrap_or(0).max(highest))
    });
    highest.max(count).saturating_add(1)
}
