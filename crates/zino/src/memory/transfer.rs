//! Everything out, and in again: `export` and `import`.

use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::Store;
use super::hard::NewMemory;
use super::request::{Refused, channel, messages, text};
use crate::service::{Answer, HungUp, Object};

/// How many messages or memories go together.
///
/// Limit: the next messages or memories come in another item of an export or step of an import.
const TRANSFER_BATCH: usize = 100;

/// What an item of an import says.
enum Item<'item> {
    History {
        channel: &'item str,
        messages: &'item [Value],
    },
    Hard(NewMemory<'item>),
    Soft(&'item str),
}

impl Store {
    pub(super) fn export(&self, answers: &Sender<Answer>) -> Result<Value, Refused> {
        let mut items = 0_u64;
        let mut give = |mut item: Value| {
            item["type"] = "item".into();
            items += 1;
            send(answers, item)
        };
        for listed in self.channels.list()? {
            let history = self.channels.history(&listed.channel_id, None)?;
            for messages in history.chunks(TRANSFER_BATCH) {
                let channel_id = &listed.channel_id;
                give(json!({ "kind": "history", "channel_id": channel_id, "messages": messages }))?;
            }
        }
        let count = self.hard.count()?;
        for begin in (0..count).step_by(TRANSFER_BATCH) {
            for (offset, memory) in self
                .hard
                .entries(begin..begin + TRANSFER_BATCH)?
                .iter()
                .enumerate()
            {
                let id = begin + offset;
                let part = |name: &str| memory.get(name).cloned();
                let messages = part("messages").unwrap_or_else(|| json!([]));
                let tag = part("tag").unwrap_or_else(|| json!(""));
                give(json!({ "kind": "hard", "id": id, "messages": messages, "tag": tag }))?;
            }
        }
        let soft = self.soft.get()?;
        if !soft.is_empty() {
            give(json!({ "kind": "soft", "content": soft }))?;
        }
        Ok(json!({ "type": "done", "items": items }))
    }

    /// Adds the items of an export, all or, when one is not right, none of them.
    pub(super) fn import(
        &self,
        request: &Object,
        answers: &Sender<Answer>,
    ) -> Result<Value, Refused> {
        let Some(Value::Array(values)) = request.get("items") else {
            return Err(Refused::Wrong("items", "a list"));
        };
        let mut items = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            items.push(item(value).map_err(|reason| Refused::Item {
                index,
                reason: reason.to_string(),
            })?);
        }
        let total = items.len();
        let mut done = 0;
        for batch in items
            .chunk_by_mut(|left, right| matches!((left, right), (Item::Hard(_), Item::Hard(_))))
        {
            for part in batch.chunks(TRANSFER_BATCH) {
                self.take(part)?;
                done += part.len();
                let progress = json!({ "type": "progress", "done": done, "total": total });
                send(answers, progress)?;
            }
        }
        Ok(json!({ "type": "ok", "items": total }))
    }

    /// One item, or memories that are stored together.
    fn take(&self, items: &[Item<'_>]) -> Result<(), Refused> {
        let mut memories = Vec::new();
        for item in items {
            match item {
                Item::History { channel, messages } => self.channels.append(channel, messages)?,
                Item::Soft(content) => self.soft.set(content)?,
                Item::Hard(memory) => memories.push(NewMemory { ..*memory }),
            }
        }
        if !memories.is_empty() {
            self.hard.store(&memories)?;
        }
        Ok(())
    }
}

fn item(value: &Value) -> Result<Item<'_>, Refused> {
    let Value::Object(object) = value else {
        return Err(Refused::Wrong("an item", "an object"));
    };
    match object.get("kind").and_then(Value::as_str) {
        Some("history") => Ok(Item::History {
            channel: channel(object)?,
            messages: messages(object)?,
        }),
        Some("hard") => Ok(Item::Hard(NewMemory {
            messages: messages(object)?,
            tag: text(object, "tag")?,
        })),
        Some("soft") => Ok(Item::Soft(text(object, "content")?)),
        _ => Err(Refused::Wrong("kind", "history, hard or soft")),
    }
}

/// Waits on this thread, which is one for blocking work, while the caller is behind.
fn send(answers: &Sender<Answer>, value: Value) -> Result<(), HungUp> {
    let sent = answers.blocking_send(Answer::message(value));
    sent.map_err(|_| HungUp)
}
