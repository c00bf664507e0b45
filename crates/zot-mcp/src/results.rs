//! Results that are too long for a conversation: they go to a file, which `read` can page.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use zot_conversation::ContentBlock;
use zot_files::Durability;

/// The most text of one result that reaches the model.
///
/// Limit: the beginning and the end are shown, and the whole text is in a file that `read` can page.
const MAX_MCP_RESULT_BYTES: usize = 50 * 1024;

/// How much of a long result is shown from its beginning; from its end it is a quarter of that.
const SHOWN_HEAD_BYTES: usize = 16 * 1024;
const SHOWN_TAIL_BYTES: usize = 4 * 1024;

/// How much the files of long results take.
///
/// Limit: the oldest are removed.
const MAX_RESULT_FILES: usize = 200;
const MAX_RESULT_FILES_BYTES: u64 = 256 * 1024 * 1024;

/// Where long results are kept.
#[derive(Debug)]
pub(crate) struct Results {
    directory: PathBuf,
}

impl Results {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns `blocks`, with too much text replaced by its ends and the name of a file.
    pub(crate) fn fit(&self, blocks: Vec<ContentBlock>) -> Vec<ContentBlock> {
        let texts = blocks.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let texts: Vec<&str> = texts.collect();
        let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
        if bytes <= MAX_MCP_RESULT_BYTES {
            return blocks;
        }
        let whole = texts.join("\n");
        let kept = self.keep_bytes(whole.as_bytes(), "txt");
        let head = whole.floor_char_boundary(SHOWN_HEAD_BYTES);
        let tail = whole.ceil_char_boundary(whole.len() - SHOWN_TAIL_BYTES);
        let shown = format!(
            "{}\n[… {} bytes left out; the whole result has {} bytes: {kept}]\n{}",
            &whole[..head],
            tail - head,
            whole.len(),
            &whole[tail..]
        );
        let others = blocks
            .into_iter()
            .filter(|block| !matches!(block, ContentBlock::Text(_)));
        std::iter::once(ContentBlock::Text(shown))
            .chain(others)
            .collect()
    }

    /// Writes a file, and says where it is, or why it is not.
    pub(crate) fn keep_bytes(&self, bytes: &[u8], extension: &str) -> String {
        match self.write(bytes, extension) {
            Ok(path) => format!("in {}", path.display()),
            Err(error) => format!("not kept: {error}"),
        }
    }

    fn write(&self, bytes: &[u8], extension: &str) -> std::io::Result<PathBuf> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        zot_files::create_private_directory(&self.directory)?;
        self.make_room(bytes.len() as u64);
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{now}-{}-{count}.{extension}", std::process::id());
        let path = self.directory.join(name);
        zot_files::replace_with(&path, 0o600, Durability::ProcessEnd, |file| {
            file.write_all(bytes)
        })?;
        Ok(path)
    }

    fn make_room(&self, wanted: u64) {
        let mut files = files(&self.directory);
        files.sort_by_key(|(_, _, time)| *time);
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        let mut count = files.len();
        for (path, bytes, _) in files {
            if count < MAX_RESULT_FILES && total + wanted <= MAX_RESULT_FILES_BYTES {
                return;
            }
            if fs::remove_file(path).is_ok() {
                total -= bytes;
                count -= 1;
            }
        }
    }
}

fn files(directory: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let metadata = entry.metadata().ok()?;
        let time = metadata.modified().ok()?;
        metadata
            .is_file()
            .then(|| (entry.path(), metadata.len(), time))
    });
    files.collect()
}
