//! An inverted index over the hard memories, kept for exact TF-IDF cosines.
//!
//! The weight of a word is `ln(n / (1 + df))`, so every store changes the length of every vector. With
//! `L = ln n` and `l = ln(1 + df)` a squared length is `L²·A − 2L·B + C`, where `A = Σc²`, `B = Σc²l`
//! and `C = Σc²l²` over the words of a memory and `c` counts a word (the length of a text cancels out
//! of a cosine). `B` and `C` are kept with an `l` that is off by [`DRIFT`] at most: the lengths found
//! with them have a proven error bound, and only memories that may be among the best are scored exactly.

mod search;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::tokens::words;

pub(super) use search::Wanted;

/// How far the `l` used in the sums may be from the true one.
const DRIFT: f64 = 0.02;

/// Marks a count that is kept in `large`.
const LARGE: u8 = u8::MAX;

#[derive(Debug, Default)]
pub(super) struct Index {
    words: HashMap<Box<str>, u32>,
    postings: Vec<Postings>,
    memories: Vec<Memory>,
    sums: Vec<Sums>,
    /// The words of all memories, one memory after the other, and their counts.
    contents: Vec<u32>,
    counts: Vec<u8>,
    /// By memory and word.
    large: HashMap<(u32, u32), u32>,
    bulk: bool,
}

/// The memories a word is in, in order.
#[derive(Debug, Default)]
struct Postings {
    memories: Vec<u32>,
    counts: Vec<u8>,
    /// The `l` used in the sums of these memories.
    applied: f64,
}

#[derive(Debug, Clone, Copy)]
struct Memory {
    /// The position of its words in `contents`.
    start: u64,
    distinct: u32,
    total: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    a: f64,
    b: f64,
    c: f64,
}

impl Postings {
    fn frequency(&self) -> f64 {
        self.memories.len() as f64
    }
}

impl Index {
    /// An index to be filled with many memories before the first search; see [`Self::settle`].
    pub(super) fn filling() -> Self {
        Self {
            bulk: true,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.memories.len()
    }

    /// Adds a memory with the next number; returns `false` when there is no number left.
    pub(super) fn add(&mut self, texts: &[&str]) -> bool {
        let Ok(number) = u32::try_from(self.memories.len()) else {
            return false;
        };
        let mut found: Vec<u32> = Vec::new();
        for text in texts {
            words(text, |word| found.push(self.word(word)));
        }
        let total = u32::try_from(found.len()).unwrap_or(u32::MAX);
        found.sort_unstable();
        let start = self.contents.len() as u64;
        for same in found.chunk_by(|left, right| left == right) {
            let word = same[0];
            let count = self.keep_count(number, word, same.len());
            self.contents.push(word);
            self.counts.push(count);
            let postings = &mut self.postings[word as usize];
            postings.memories.push(number);
            postings.counts.push(count);
        }
        let distinct = (self.contents.len() as u64 - start) as u32;
        self.memories.push(Memory {
            start,
            distinct,
            total,
        });
        self.sums.push(Sums::default());
        if !self.bulk {
            self.sums[number as usize] = self.fresh_sums(number);
            for position in self.word_positions(number) {
                self.update_sums(self.contents[position]);
            }
        }
        true
    }

    /// Removes the words of a memory. Its number stays.
    pub(super) fn remove(&mut self, number: u32) {
        for position in self.word_positions(number) {
            let word = self.contents[position];
            self.large.remove(&(number, word));
            let postings = &mut self.postings[word as usize];
            if let Ok(found) = postings.memories.binary_search(&number) {
                postings.memories.remove(found);
                postings.counts.remove(found);
            }
            self.update_sums(word);
        }
        if let Some(memory) = self.memories.get_mut(number as usize) {
            memory.distinct = 0;
            memory.total = 0;
        }
        if let Some(sums) = self.sums.get_mut(number as usize) {
            *sums = Sums::default();
        }
    }

    /// Computes the sums after filling.
    pub(super) fn settle(&mut self) {
        self.bulk = false;
        for postings in &mut self.postings {
            postings.applied = (1.0 + postings.frequency()).ln();
        }
        for number in 0..self.memories.len() {
            self.sums[number] = self.fresh_sums(number as u32);
        }
    }

    fn word(&mut self, word: &str) -> u32 {
        if let Some(&known) = self.words.get(word) {
            return known;
        }
        let new = self.postings.len() as u32;
        self.words.insert(word.into(), new);
        self.postings.push(Postings::default());
        new
    }

    fn keep_count(&mut self, number: u32, word: u32, count: usize) -> u8 {
        if count < usize::from(LARGE) {
            return count as u8;
        }
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.large.insert((number, word), count);
        LARGE
    }

    fn count(&self, number: u32, word: u32, kept: u8) -> f64 {
        if kept == LARGE {
            f64::from(self.large.get(&(number, word)).copied().unwrap_or(0))
        } else {
            f64::from(kept)
        }
    }

    /// The range of a memory's words in `contents`.
    fn word_positions(&self, number: u32) -> std::ops::Range<usize> {
        match self.memories.get(number as usize) {
            Some(memory) => {
                let start = memory.start as usize;
                start..start + memory.distinct as usize
            }
            None => 0..0,
        }
    }

    fn fresh_sums(&self, number: u32) -> Sums {
        let mut sums = Sums::default();
        for position in self.word_positions(number) {
            let word = self.contents[position];
            let count = self.count(number, word, self.counts[position]);
            let applied = self.postings[word as usize].applied;
            let square = count * count;
            sums.a += square;
            sums.b += square * applied;
            sums.c += square * applied * applied;
        }
        sums
    }

    /// Updates the sums of a word's memories when its frequency has drifted too far.
    fn update_sums(&mut self, word: u32) {
        let postings = &mut self.postings[word as usize];
        let now = (1.0 + postings.frequency()).ln();
        let before = postings.applied;
        if (now - before).abs() <= DRIFT {
            return;
        }
        postings.applied = now;
        let (first, second) = (now - before, now * now - before * before);
        let postings = &self.postings[word as usize];
        for (&number, &kept) in postings.memories.iter().zip(&postings.counts) {
            let count = if kept == LARGE {
                f64::from(self.large.get(&(number, word)).copied().unwrap_or(0))
            } else {
                f64::from(kept)
            };
            let sums = &mut self.sums[number as usize];
            sums.b += count * count * first;
            sums.c += count * count * second;
        }
    }
}
