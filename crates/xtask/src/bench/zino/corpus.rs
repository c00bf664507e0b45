//! Generates texts to store and to search, the same ones in every run.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;

/// The number of different words; word n is about 1/n as frequent as the first.
const VOCABULARY: f64 = 50_000.0;

/// The words of a memory, half of them in each of its two messages.
const WORDS_OF_A_MEMORY: usize = 25;
const WORDS_OF_A_QUERY: usize = 5;

/// A source of texts.
pub(crate) struct Corpus {
    state: u64,
}

impl Corpus {
    pub(crate) fn new(seed: u64) -> Self {
        // The generator would stay at zero.
        Self { state: seed.max(1) }
    }

    pub(crate) fn query(&mut self) -> String {
        self.text(WORDS_OF_A_QUERY)
    }

    /// Returns a question and an answer.
    pub(super) fn memory(&mut self) -> [String; 2] {
        let half = WORDS_OF_A_MEMORY / 2;
        [self.text(half), self.text(WORDS_OF_A_MEMORY - half)]
    }

    fn text(&mut self, words: usize) -> String {
        let mut text = String::with_capacity(words * 5);
        for number in 0..words {
            if number > 0 {
                text.push(' ');
            }
            let rank = self.rank();
            spell(rank, &mut text);
        }
        text
    }

    fn rank(&mut self) -> usize {
        // xorshift64*, whose upper bits are good.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let bits = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        let unit = bits as f64 / (1u64 << 53) as f64;
        VOCABULARY.powf(unit) as usize
    }
}

/// Returns a word of at least two letters for each rank.
fn spell(rank: usize, text: &mut String) {
    let mut rest = rank + 25;
    while rest > 0 {
        text.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
}

/// Writes `count` memories as `mem` stores them.
pub(crate) fn write_memories(path: &Path, count: usize) -> anyhow::Result<()> {
    let mut corpus = Corpus::new(1);
    write_array(path, count, |out| {
        let [question, answer] = corpus.memory();
        write!(
            out,
            "{{\n    \"messages\": [\n      {{\n        \"role\": \"user\",\n        \
             \"content\": \"{question}\"\n      }},\n      {{\n        \"role\": \"assistant\",\n        \
             \"content\": \"{answer}\"\n      }}\n    ],\n    \"tag\": \"note\"\n  }}"
        )
    })
}

/// Writes `count` messages of a channel as `mem` stores them.
pub(super) fn write_history(path: &Path, count: usize) -> anyhow::Result<()> {
    let mut corpus = Corpus::new(2);
    let mut roles = ["user", "assistant"].into_iter().cycle();
    write_array(path, count, |out| {
        let role = roles.next().unwrap_or_default();
        let content = corpus.text(WORDS_OF_A_MEMORY);
        write!(
            out,
            "{{\n    \"role\": \"{role}\",\n    \"content\": \"{content}\"\n  }}"
        )
    })
}

/// Writes a list as Python does with an indentation of two.
fn write_array(
    path: &Path,
    count: usize,
    mut element: impl FnMut(&mut BufWriter<File>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let directory = path.parent().context("a file is in a directory")?;
    fs::create_dir_all(directory)?;
    let mut out = BufWriter::new(File::create(path)?);
    for number in 0..count {
        out.write_all(if number == 0 { b"[\n  " } else { b",\n  " })?;
        element(&mut out)?;
    }
    out.write_all(if count == 0 { b"[]" } else { b"\n]" })?;
    out.flush()?;
    Ok(())
}
