//! The summary of a session in a list, read without keeping the session in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memchr::memmem;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use zot_conversation::{IMAGE_MIRROR_HEADING, Timestamp};

use crate::SessionMeta;
use crate::line::{self, Line};
use crate::reader::{LineEnd, for_each_line};

/// The longest title, in characters.
const MAX_TITLE: usize = 120;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub id: String,
    pub path: PathBuf,
    pub cwd: String,
    /// The provider of the model that was used last.
    pub provider: String,
    pub model: String,
    pub started: String,
    /// When it was last changed.
    pub modified: Timestamp,
    pub messages: u64,
    /// Messages of the user.
    pub prompts: u64,
    /// The user's title, or the beginning of the first prompt.
    pub title: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    pub cost_usd: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_point: Option<u64>,
    /// Whether the file is damaged; `zot sessions show` describes how.
    pub damaged: bool,
    pub bytes: u64,
}

/// The parts of a record that a summary needs.
#[derive(Deserialize)]
struct Glance {
    #[serde(rename = "type")]
    kind: String,
    message: Option<GlanceMessage>,
}

#[derive(Deserialize)]
struct GlanceMessage {
    role: String,
    #[serde(rename = "content")]
    _content: Option<IgnoredAny>,
}

impl Summary {
    /// Reads the file.
    pub(crate) fn read(path: &Path, modified: SystemTime) -> io::Result<Self> {
        let file = zot_files::open_existing(path)?;
        let mut summary = Self {
            path: path.to_owned(),
            modified: Timestamp::try_from(modified).unwrap_or_default(),
            ..Self::empty()
        };
        let end = for_each_line(&file, |raw| {
            if raw.ends == LineEnd::TooLong || summary.add(raw.bytes).is_err() {
                summary.damaged = true;
            }
        })?;
        summary.bytes = end.bytes;
        if summary.id.is_empty() {
            summary.damaged = end.lines > 0;
            let stem = path.file_stem().unwrap_or_default();
            summary.id = stem.to_string_lossy().into_owned();
        }
        Ok(summary)
    }

    fn empty() -> Self {
        Self {
            id: String::new(),
            path: PathBuf::new(),
            cwd: String::new(),
            provider: String::new(),
            model: String::new(),
            started: String::new(),
            modified: Timestamp::default(),
            messages: 0,
            prompts: 0,
            title: String::new(),
            input_tokens: 0,
            output_tokens: 0,
            cache_read_tokens: 0,
            cache_write_tokens: 0,
            cost_usd: 0.0,
            parent: None,
            fork_point: None,
            damaged: false,
            bytes: 0,
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        let glance: Glance = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match (glance.kind.as_str(), glance.message) {
            ("message", Some(message)) => {
                self.messages += 1;
                if message.role != "user" || is_mirror(bytes)? {
                    return Ok(());
                }
                self.prompts += 1;
                if self.title.is_empty()
                    && let Line::Message(message) = line::parse(bytes)?
                    && message.value.is_prompt()
                {
                    self.title = title(&message.value.text());
                }
            }
            // A conversation that was imported as a whole.
            ("replaced" | "compaction", _) if self.messages == 0 => {
                if let Line::Replaced(messages) = line::parse(bytes)? {
                    let prompts = messages.iter().filter(|m| m.value.is_prompt());
                    self.messages = messages.len() as u64;
                    self.prompts = prompts.clone().count() as u64;
                    let first = prompts.map(|message| message.value.text()).next();
                    if self.title.is_empty() {
                        self.title = title(&first.unwrap_or_default());
                    }
                }
            }
            ("meta", _) => {
                if let Line::Meta(meta) = line::parse(bytes)? {
                    self.add_meta(meta);
                }
            }
            ("rename", _) => {
                if let Line::Renamed(Some(renamed)) = line::parse(bytes)? {
                    self.title = title(&renamed);
                }
            }
            ("model", _) => {
                if let Line::Model { provider, model } = line::parse(bytes)? {
                    (self.provider, self.model) = (provider, model);
                }
            }
            ("usage", _) => {
                if let Line::Usage { cumulative, .. } = line::parse(bytes)? {
                    self.input_tokens = cumulative.input;
                    self.output_tokens = cumulative.output;
                    self.cache_read_tokens = cumulative.cache_read;
                    self.cache_write_tokens = cumulative.cache_write;
                    self.cost_usd = cumulative.cost_usd;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add_meta(&mut self, meta: SessionMeta) {
        if self.id.is_empty() {
            self.id = meta.id;
            self.cwd = meta.cwd;
            self.provider = meta.provider;
            self.model = meta.model;
            self.started = meta.started.to_string();
            self.parent = meta.parent;
            self.fork_point = meta.fork_point;
            self.title = title(meta.title.as_deref().unwrap_or(&self.title));
            return;
        }
        let is_same = meta.id.is_empty() || meta.id == self.id;
        if is_same && !meta.provider.is_empty() && !meta.model.is_empty() {
            (self.provider, self.model) = (meta.provider, meta.model);
        }
    }
}

/// Returns whether a user message repeats what tools returned. Most can be decided without parsing
/// them.
fn is_mirror(bytes: &[u8]) -> Result<bool, String> {
    if memmem::find(bytes, IMAGE_MIRROR_HEADING.as_bytes()).is_none() {
        return Ok(false);
    }
    match line::parse(bytes)? {
        Line::Message(message) => Ok(message.value.is_image_mirror()),
        _ => Ok(false),
    }
}

/// Returns the beginning of a text on one line.
fn title(text: &str) -> String {
    let mut title = String::new();
    for word in text.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
        if title.chars().count() > MAX_TITLE {
            return title.chars().take(MAX_TITLE - 1).chain(['…']).collect();
        }
    }
    title
}
