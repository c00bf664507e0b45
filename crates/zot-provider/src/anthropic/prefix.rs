//! Which thinking goes back to the service.
//!
//! Newer models accept thinking only behind the very prefix it was made with: system prompt, tools
//! and earlier messages (<https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>).
//! So every block carries a digest of the prefix it answered, and it is replayed only where that
//! digest comes out again. The digest covers the thinking that was really sent, so that thinking
//! which is left out takes everything with it that was made after it.
//!
//! The digests form a chain, one link per message, and are kept like serialised messages: a request
//! costs the links of its new messages only.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use zot_conversation::{ContentBlock, Message, Reasoning};

/// The conversation at hand, and one side question such as a compaction.
///
/// Limit: the prefixes of older conversations are computed again.
const MAX_REMEMBERED_PREFIX_CHAINS: usize = 2;

/// Each stands for a conversation that the service refused; the oldest go first.
///
/// Limit: the oldest prefix behind which thinking was refused is tried again.
const MAX_REFUSED_PREFIXES: usize = 64;

/// How much of a digest is kept with a block.
const PREFIX_BYTES: usize = 16;

type Digest = [u8; 32];

/// What became of the thinking in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replay {
    Kept,
    Dropped,
}

/// The prefixes of the last conversations, most recent first.
#[derive(Default)]
pub(super) struct Prefixes {
    chains: VecDeque<Chain>,
    /// Prefixes that the service says are not those of the thinking behind them.
    refused: VecDeque<String>,
    /// Whether thinking without a prefix, from sessions of older versions, was refused.
    refused_unmarked: bool,
    /// Counts the chains, so that each has a number of its own.
    begun: u64,
}

/// One conversation behind one system prompt, with one set of tools, to one model.
pub(super) struct Chain {
    number: u64,
    start: Digest,
    links: Vec<Link>,
    /// The first message whose thinking is replayed.
    first_kept: Option<usize>,
}

struct Link {
    /// Held so that the address cannot be reused by another message.
    message: Arc<Message>,
    replay: Replay,
    after: Digest,
}

/// The thinking that a request replayed: what its first block was made behind, if that is known.
pub(super) struct Replayed(Option<String>);

/// Whose thinking is looked for, and how strictly.
pub(super) struct Reader<'a> {
    pub(super) provider: &'a str,
    /// Whether the model refuses thinking behind another prefix.
    pub(super) binds: bool,
}

/// The beginning of every chain: the model, and the serialised system prompt and tools.
pub(super) fn start(model: &str, head: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(model);
    hasher.update([0]);
    hasher.update(head);
    hasher.finalize().into()
}

impl Prefixes {
    /// Decides for each of `messages` whether its thinking is replayed. `write` serialises a message
    /// as it will be sent.
    pub(super) fn follow(
        &mut self,
        start: Digest,
        reader: &Reader<'_>,
        messages: &[Arc<Message>],
        mut write: impl FnMut(&Message, Replay, &mut Vec<u8>),
    ) -> &Chain {
        let mut chain = self.take(start, messages);
        let same = chain
            .links
            .iter()
            .zip(messages)
            .take_while(|(link, message)| Arc::ptr_eq(&link.message, message))
            .count();
        chain.truncate(same);
        let mut bytes = Vec::new();
        for message in messages.iter().skip(same) {
            let before = chain.end();
            let (replay, has_thinking) = self.judge(reader, message, &before);
            bytes.clear();
            write(message, replay, &mut bytes);
            let mut hasher = Sha256::new();
            hasher.update(before);
            hasher.update(&bytes);
            if has_thinking && replay == Replay::Kept {
                chain.first_kept.get_or_insert(chain.links.len());
            }
            chain.links.push(Link {
                message: Arc::clone(message),
                replay,
                after: hasher.finalize().into(),
            });
        }
        self.chains.push_front(chain);
        self.chains.truncate(MAX_REMEMBERED_PREFIX_CHAINS);
        &self.chains[0]
    }

    fn take(&mut self, start: Digest, messages: &[Arc<Message>]) -> Chain {
        let known = self.chains.iter().position(|chain| {
            let first = chain.links.first().zip(messages.first());
            chain.start == start
                && first.is_some_and(|(link, message)| Arc::ptr_eq(&link.message, message))
        });
        known
            .and_then(|index| self.chains.remove(index))
            .unwrap_or_else(|| {
                self.begun += 1;
                Chain {
                    number: self.begun,
                    start,
                    links: Vec::new(),
                    first_kept: None,
                }
            })
    }

    /// All thinking of a message is replayed, or none: a part of it would have another prefix.
    fn judge(&self, reader: &Reader<'_>, message: &Message, before: &Digest) -> (Replay, bool) {
        let mut own = own_thinking(reader.provider, message).peekable();
        if own.peek().is_none() {
            return (Replay::Kept, false);
        }
        let here = shortened(before);
        let fits = own.all(|reasoning| match &reasoning.prefix {
            Some(prefix) => *prefix == here && !self.refused.contains(prefix),
            None => !reader.binds && !self.refused_unmarked,
        });
        let replay = match fits {
            true => Replay::Kept,
            false => Replay::Dropped,
        };
        (replay, true)
    }

    /// Notes that the service refused what was replayed. Leaving out the first block is enough:
    /// whatever came after it was made with it in its prefix.
    pub(super) fn refuse(&mut self, replayed: &Replayed) {
        self.refused_unmarked = true;
        if let Some(prefix) = &replayed.0 {
            self.refused.push_back(prefix.clone());
            if self.refused.len() > MAX_REFUSED_PREFIXES {
                self.refused.pop_front();
            }
        }
        self.chains.clear();
    }
}

impl Chain {
    /// Differs whenever [`Self::replay`] may.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn replay(&self, index: usize) -> Replay {
        self.links
            .get(index)
            .map_or(Replay::Dropped, |link| link.replay)
    }

    /// What the answer to a request with these messages is made behind.
    pub(super) fn prefix(&self) -> String {
        shortened(&self.end())
    }

    pub(super) fn replayed(&self, provider: &str) -> Option<Replayed> {
        let first = self.links.get(self.first_kept?)?;
        let prefix = own_thinking(provider, &first.message).find_map(|it| it.prefix.clone());
        Some(Replayed(prefix))
    }

    fn end(&self) -> Digest {
        self.links.last().map_or(self.start, |link| link.after)
    }

    fn truncate(&mut self, keep: usize) {
        self.links.truncate(keep);
        self.first_kept = self.first_kept.filter(|first| *first < keep);
    }
}

/// The blocks that only this provider can read.
fn own_thinking<'a>(
    provider: &'a str,
    message: &'a Message,
) -> impl Iterator<Item = &'a Reasoning> {
    message.content.iter().filter_map(move |block| match block {
        ContentBlock::Reasoning(reasoning) if reasoning.provider == provider => Some(reasoning),
        _ => None,
    })
}

fn shortened(digest: &Digest) -> String {
    let mut text = String::with_capacity(2 * PREFIX_BYTES);
    for byte in digest.iter().take(PREFIX_BYTES) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Whether a refusal is about thinking that was replayed.
pub(super) fn is_about_replayed_thinking(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("bound to a different")
        || message.contains("thinking")
            && (message.contains("invalid `signature`")
                || message.contains("invalid signature")
                || message.contains("cannot be modified"))
}

#[cfg(test)]
mod tests;
