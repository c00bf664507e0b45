//! `export` and `import` of everything that is stored.

use tokio::sync::mpsc::Sender;
use zot_wire::zino::memory::{ExportedItem, ImportedItem, Response};

use super::FileStore;
use crate::memory::RequestError;
use crate::memory::stored::{NewMemory, TRANSFER_BATCH, exported_memory};
use crate::service::HungUp;

impl FileStore {
    pub(super) fn export(&self, frames: &Sender<Response>) -> Result<Response, RequestError> {
        let mut items = 0_u64;
        let mut send_item = |item: ExportedItem| {
            items += 1;
            send(frames, Response::Item(item))
        };
        for listed in self.channels.list()? {
            let history = self.channels.history(&listed.channel_id, None)?;
            for messages in history.chunks(TRANSFER_BATCH) {
                send_item(ExportedItem::History {
                    channel_id: listed.channel_id.clone(),
                    messages: messages.to_vec(),
                })?;
            }
        }
        let count = self.hard.count()?;
        for begin in (0..count).step_by(TRANSFER_BATCH) {
            let memories = self.hard.entries(begin..begin + TRANSFER_BATCH)?;
            for (offset, memory) in memories.into_iter().enumerate() {
                send_item(exported_memory(begin + offset, memory))?;
            }
        }
        let content = self.soft.get()?;
        if !content.is_empty() {
            send_item(ExportedItem::Soft { content })?;
        }
        Ok(Response::Exported { items })
    }

    /// Adds the items of an export; all of them have been checked.
    pub(super) fn import(
        &self,
        items: Vec<ImportedItem>,
        frames: &Sender<Response>,
    ) -> Result<Response, RequestError> {
        let total = items.len();
        let mut done = 0;
        let mut memories = Vec::new();
        let mut items = items.into_iter().peekable();
        while let Some(item) = items.next() {
            done += 1;
            match item {
                ImportedItem::History {
                    channel_id,
                    messages,
                } => self.channels.append(&channel_id, &messages)?,
                ImportedItem::Soft { content } => self.soft.set(&content)?,
                // Neighbouring memories are stored together.
                ImportedItem::Hard { messages, tag } => {
                    memories.push(NewMemory { messages, tag });
                    let more = matches!(items.peek(), Some(ImportedItem::Hard { .. }));
                    if more && memories.len() < TRANSFER_BATCH {
                        continue;
                    }
                    self.hard.store(&std::mem::take(&mut memories))?;
                }
            }
            send(frames, Response::Progress { done, total })?;
        }
        Ok(Response::Imported { items: total })
    }
}

/// Blocks this thread, which is one for blocking work, while the caller is behind.
fn send(frames: &Sender<Response>, frame: Response) -> Result<(), HungUp> {
    frames.blocking_send(frame).map_err(|_| HungUp)
}
