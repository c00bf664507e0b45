//! Decides the text and the tool calls of a response, from nothing but the request.

#[cfg(test)]
mod tests;

use zot_conversation::{ContentBlock, Message, ModelRequest, Role, ToolResult};

use crate::intent::{Intent, intents};
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
- run: ls -la
- call read {\"path\": \"README.md\"} (or any other tool)

Several in one line can be joined by \"and\". For anything else, choose a real model with --provider and --model.";

const ID_PREFIX: &str = "offline_";

/// The beginning of a request to summarise the conversation.
const COMPACTION: &str = "<conversation>";

/// Responds to a request. The same request always gets the same response.
pub(crate) fn reply(request: &ModelRequest<'_>) -> Reply {
    let messages: Vec<&Message> = request.messages.iter().map(AsRef::as_ref).collect();
    let prompt_index = messages.iter().rposition(|message| message.is_prompt());
    let (before, rest) = messages.split_at(prompt_index.unwrap_or(messages.len()));
    let (prompt, turn) = rest.split_at(rest.len().min(1));
    let prompt_text = prompt
        .first()
        .map(|prompt| prompt.text())
        .unwrap_or_default();
    if prompt_text.starts_with(COMPACTION) {
        return Reply {
            text: format!("{INTRODUCTION} So I cannot summarise what was said before."),
            calls: Vec::new(),
        };
    }
    let has_tool = |intent: &Intent| {
        request
            .tools
            .iter()
            .any(|tool| tool.name == intent.call().0)
    };
    let (steps, missing): (Vec<Intent>, Vec<Intent>) =
        intents(&prompt_text).into_iter().partition(has_tool);
    let calls_made: usize = turn
        .iter()
        .map(|message| message.tool_calls().count())
        .sum();
    let mut paragraphs = Vec::new();
    if calls_made == 0 {
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
    let results = latest_results(turn);
    let reported = calls_made.saturating_sub(results.len());
    let results = results.into_iter().zip(reported..);
    paragraphs.extend(results.map(|(result, index)| report(steps.get(index), result)));
    let batch = next_batch(steps.get(calls_made..).unwrap_or_default());
    if !batch.is_empty() {
        let tasks: Vec<String> = batch.iter().map(Intent::task).collect();
        paragraphs.push(format!("I will {}.", tasks.join(" and ")));
    }
    Reply {
        calls: calls(batch, next_id(&messages)),
        text: paragraphs.join("\n\n"),
    }
}

/// Returns the results of the last calls, which no response has reported.
fn latest_results<'a>(turn: &[&'a Message]) -> Vec<&'a ToolResult> {
    let has_calls = |message: &&Message| message.tool_calls().next().is_some();
    let last = turn.iter().rposition(has_calls).unwrap_or(turn.len());
    let messages = turn.iter().skip(last);
    messages
        .flat_map(|message| message.tool_results())
        .collect()
}

/// Returns the steps of the next response: those that only read together, any other by itself.
fn next_batch(steps: &[Intent]) -> &[Intent] {
    let reading = steps.iter().take_while(|step| step.only_reads()).count();
    steps.get(..reading.max(1)).unwrap_or_default()
}

fn unavailable(step: &Intent) -> String {
    let (task, (tool, _)) = (step.task(), step.call());
    format!("I would {task} with the `{tool}` tool, but that tool is not available here.")
}

fn calls(batch: &[Intent], first_id: usize) -> Vec<Call> {
    let calls = batch.iter().zip(first_id..).map(|(step, id)| {
        let (name, arguments) = step.call();
        Call {
            id: format!("{ID_PREFIX}{id}"),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        }
    });
    calls.collect()
}

/// Returns a number above every id in the conversation.
fn next_id(messages: &[&Message]) -> usize {
    let calls = messages.iter().flat_map(|message| message.tool_calls());
    let numbers = calls.filter_map(|call| call.id.as_str().strip_prefix(ID_PREFIX)?.parse().ok());
    numbers.max().unwrap_or(0_usize).saturating_add(1)
}
