//! Drops the blanks that separate text from blocks.

/// The longest run of blanks that counts as a separator. A longer one is text.
///
/// Limit: further blanks beside a block are text.
const MAX_SEPARATOR_BYTES: usize = 1024;

/// Passes text on without the blanks next to a block.
#[derive(Debug, Default)]
pub(crate) struct Spacing {
    /// Blanks behind the text so far, kept or dropped depending on what follows.
    held: String,
    /// Whether a block came last.
    after_block: bool,
    /// Whether there are too many blanks for a separator.
    too_long: bool,
}

impl Spacing {
    /// Whether `text` would be passed on unchanged.
    pub(crate) fn is_plain(&self, text: &str) -> bool {
        self.held.is_empty()
            && !self.after_block
            && !self.too_long
            && !text.ends_with(|last: char| last.is_ascii_whitespace())
    }

    pub(crate) fn text(&mut self, mut text: &str, mut pass: impl FnMut(&str)) {
        if self.after_block {
            text = text.trim_ascii_start();
            if text.is_empty() {
                return;
            }
            self.after_block = false;
        }
        let (said, blanks) = text.split_at(text.trim_ascii_end().len());
        if !said.is_empty() {
            pass(&self.held);
            self.held.clear();
            self.too_long = false;
            pass(said);
        }
        self.too_long |= self.held.len() + blanks.len() > MAX_SEPARATOR_BYTES;
        if self.too_long {
            pass(&self.held);
            self.held.clear();
            pass(blanks);
        } else {
            self.held.push_str(blanks);
        }
    }

    /// Notes a block at this position.
    pub(crate) fn block(&mut self) {
        self.held.clear();
        self.after_block = true;
        self.too_long = false;
    }

    /// Ends the text.
    pub(crate) fn finish(&mut self, mut pass: impl FnMut(&str)) {
        pass(&self.held);
        self.held.clear();
        self.too_long = false;
    }
}
