//! Compares requests with the recorded ones at a cost that does not grow with the transcript:
//! messages compared before are recognised by pointer identity.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use zot_conversation::{Message, ModelRequest, ToolDefinition};

use crate::conversations::{Continues, Conversation, Conversations};
use crate::difference::{Difference, Masks};
use crate::exchange::RequestLine;
use crate::mask::Mask;
use crate::reader::{RecordedConversation, RecordedHead};
use crate::recorder::same_pointers;
use crate::request::{append_message, append_tools};

/// The request that the recording expects next.
pub(super) struct Expected {
    /// The provider of a backup model.
    provider: Option<String>,
    model: String,
    reasoning: Option<String>,
    max_output: u64,
    continues: Option<Continues>,
    request: RecordedConversation,
}

impl Expected {
    pub(super) fn new(line: &RequestLine<'_>, request: RecordedConversation) -> Self {
        Self {
            provider: line.provider.clone().map(std::borrow::Cow::into_owned),
            model: line.model.clone().into_owned(),
            reasoning: line.reasoning.clone().map(std::borrow::Cow::into_owned),
            max_output: line.max_output,
            continues: line.continues,
            request,
        }
    }

    /// Returns the difference between the recorded provider and the current one.
    pub(super) fn compare_provider(&self, fallback: Option<&str>) -> Option<Difference> {
        let recorded = self.provider.as_deref();
        (recorded != fallback).then(|| {
            let [recorded, now] = [recorded, fallback].map(|name| name.map(Value::from));
            Difference::of_values("provider", recorded.as_ref(), now.as_ref())
        })
    }

    pub(super) fn into_conversation(self) -> RecordedConversation {
        self.request
    }
}

/// Requests that matched the recorded ones.
#[derive(Default)]
pub(super) struct Verified(Conversations<VerifiedHead, Arc<Message>>);

/// The system prompt and tools of a request, and what they were compared with.
struct VerifiedHead {
    recorded: Arc<RecordedHead>,
    system: String,
    tools: Vec<Arc<ToolDefinition>>,
}

impl VerifiedHead {
    fn covers(&self, recorded: &Arc<RecordedHead>, request: &ModelRequest<'_>) -> bool {
        Arc::ptr_eq(&self.recorded, recorded)
            && self.system == request.system
            && same_pointers(&self.tools, request.tools)
    }
}

impl Verified {
    /// Returns where `request` first differs from the recorded one.
    pub(super) fn compare(
        &mut self,
        expected: &Expected,
        request: &ModelRequest<'_>,
    ) -> Option<Difference> {
        if let Some(difference) = compare_options(expected, request) {
            return Some(difference);
        }
        let recorded = &expected.request;
        let masks = Masks {
            recorded: Mask::of(&recorded.head.system),
            now: Mask::of(request.system),
        };
        let known = self.take_base(expected);
        let head_known = known
            .as_ref()
            .is_some_and(|known| known.head.covers(&recorded.head, request));
        let same = known
            .as_ref()
            .map_or(0, |known| same_messages(known, expected, request));
        if let Some(known) = known {
            self.0.put(known);
        }
        if !head_known && let Some(difference) = compare_heads(&masks, &recorded.head, request) {
            return Some(difference);
        }
        compare_messages(&masks, recorded, request, same)
    }

    /// Remembers that `request` matched the recorded one.
    pub(super) fn accept(&mut self, expected: &Expected, request: &ModelRequest<'_>) {
        let exchange = expected.request.exchange;
        let head = |recorded: &Arc<RecordedHead>| VerifiedHead {
            recorded: Arc::clone(recorded),
            system: request.system.to_owned(),
            tools: request.tools.to_vec(),
        };
        let recorded = &expected.request.head;
        let conversation = match self.take_base(expected) {
            Some(mut known) => {
                let same = same_messages(&known, expected, request);
                known.messages.truncate(same);
                let new = request.messages.get(same..).unwrap_or_default();
                known.messages.extend_from_slice(new);
                known.exchange = exchange;
                if !known.head.covers(recorded, request) {
                    known.head = head(recorded);
                }
                known
            }
            None => Conversation {
                exchange,
                head: head(recorded),
                messages: request.messages.to_vec(),
            },
        };
        self.0.put(conversation);
    }

    fn take_base(
        &mut self,
        expected: &Expected,
    ) -> Option<Conversation<VerifiedHead, Arc<Message>>> {
        self.0.take(expected.continues?.exchange)
    }
}

/// Returns how many leading messages were compared before.
fn same_messages(
    known: &Conversation<VerifiedHead, Arc<Message>>,
    expected: &Expected,
    request: &ModelRequest<'_>,
) -> usize {
    let shared = expected.continues.map_or(0, |continues| continues.messages);
    known
        .messages
        .iter()
        .zip(request.messages)
        .take(shared)
        .take_while(|(kept, asked)| Arc::ptr_eq(kept, asked))
        .count()
}

fn compare_options(expected: &Expected, request: &ModelRequest<'_>) -> Option<Difference> {
    if expected.model != request.model {
        let now = request.model;
        return Some(Difference::of_texts("model", &expected.model, now));
    }
    let effort = request.reasoning.map(|effort| effort.as_str());
    if expected.reasoning.as_deref() != effort {
        let recorded = expected.reasoning.as_deref().map(Value::from);
        let now = effort.map(Value::from);
        return Some(Difference::of_values(
            "reasoning",
            recorded.as_ref(),
            now.as_ref(),
        ));
    }
    if expected.max_output != request.max_output {
        return Some(Difference::of_values(
            "max_output",
            Some(&expected.max_output.into()),
            Some(&request.max_output.into()),
        ));
    }
    None
}

fn compare_heads(
    masks: &Masks<'_>,
    recorded: &RecordedHead,
    request: &ModelRequest<'_>,
) -> Option<Difference> {
    if recorded.system != request.system
        && let Some(difference) = masks.compare_systems(&recorded.system, request.system)
    {
        return Some(difference);
    }
    let mut now = Vec::new();
    append_tools(&mut now, request.tools);
    compare_json(masks, "tools", &recorded.tools, &now)
}

fn compare_messages(
    masks: &Masks<'_>,
    recorded: &RecordedConversation,
    request: &ModelRequest<'_>,
    from: usize,
) -> Option<Difference> {
    let recorded = &recorded.messages;
    let mut buffer = Vec::new();
    for index in from..recorded.len().max(request.messages.len()) {
        let path = format!("messages[{index}]");
        let difference = match (recorded.get(index), request.messages.get(index)) {
            (Some(recorded), Some(message)) => {
                buffer.clear();
                append_message(&mut buffer, message);
                compare_json(masks, &path, recorded, &buffer)
            }
            (recorded, message) => {
                buffer.clear();
                if let Some(message) = message {
                    append_message(&mut buffer, message);
                }
                let recorded = recorded.map(|recorded| parse(recorded.get().as_bytes()));
                let now = message.map(|_| parse(&buffer));
                Some(Difference::of_values(path, recorded.as_ref(), now.as_ref()))
            }
        };
        if difference.is_some() {
            return difference;
        }
    }
    None
}

/// Equal bytes need no closer comparison.
fn compare_json(
    masks: &Masks<'_>,
    path: &str,
    recorded: &RawValue,
    now: &[u8],
) -> Option<Difference> {
    if recorded.get().as_bytes() == now {
        return None;
    }
    masks.compare(path, &parse(recorded.get().as_bytes()), &parse(now))
}

/// Both sides are known to be valid JSON.
fn parse(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}
