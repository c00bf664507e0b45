//! The plain inverted index: every memory that has a word of the query is scored exactly.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::index::Wanted;
use super::tokens::words;

#[derive(Default)]
pub(super) struct PlainIndex {
    words: HashMap<Box<str>, u32>,
    /// The memories each word is in, in order.
    postings: Vec<Vec<u32>>,
    /// Where the words of each memory begin in `contents`, and where those of the last end.
    starts: Vec<usize>,
    /// Word and count, by memory.
    contents: Vec<(u32, u32)>,
    totals: Vec<u32>,
}

impl PlainIndex {
    pub(super) fn new() -> Self {
        Self {
            starts: vec![0],
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        let number = self.totals.len() as u32;
        let mut found: Vec<u32> = Vec::new();
        words(text, |word| {
            let next = self.postings.len() as u32;
            let word = match self.words.get(word) {
                Some(&known) => known,
                None => {
                    self.words.insert(word.into(), next);
                    self.postings.push(Vec::new());
                    next
                }
            };
            found.push(word);
        });
        found.sort_unstable();
        for same in found.chunk_by(|left, right| left == right) {
            self.contents.push((same[0], same.len() as u32));
            self.postings[same[0] as usize].push(number);
        }
        self.starts.push(self.contents.len());
        self.totals.push(found.len() as u32);
    }

    /// The numbers of memories and their scores, the best first.
    pub(super) fn search(&self, text: &str, wanted: Wanted) -> Vec<(u32, f64)> {
        let mut asked: BTreeMap<String, u32> = BTreeMap::new();
        let mut total = 0.0;
        words(text, |word| {
            *asked.entry(word.to_owned()).or_default() += 1;
            total += 1.0;
        });
        let documents = self.totals.len() as f64 + 1.0;
        // The weight of each word for this query; the query counts as a document too.
        let mut weights = vec![f64::NAN; self.postings.len()];
        let mut shares: HashMap<u32, f64> = HashMap::new();
        let mut squares = Vec::new();
        for (word, count) in asked {
            let word = self.words.get(word.as_str()).copied();
            let frequency = word.map_or(0, |word| self.postings[word as usize].len());
            let weight = (documents / (2.0 + frequency as f64)).ln();
            let share = f64::from(count) / total;
            squares.push((share * weight).powi(2));
            if let Some(word) = word {
                weights[word as usize] = weight;
                shares.insert(word, share);
            }
        }
        let length = sum(&mut squares).sqrt();
        let mut is_candidate = vec![false; self.totals.len()];
        for word in shares.keys() {
            for &number in &self.postings[*word as usize] {
                is_candidate[number as usize] = true;
            }
        }
        let mut scored = Vec::new();
        let mut products = Vec::new();
        for number in (0..is_candidate.len()).filter(|number| is_candidate[*number]) {
            squares.clear();
            products.clear();
            let memory_total = f64::from(self.totals[number]);
            for &(word, count) in &self.contents[self.starts[number]..self.starts[number + 1]] {
                let weight = &mut weights[word as usize];
                if weight.is_nan() {
                    let frequency = self.postings[word as usize].len() as f64;
                    *weight = (documents / (1.0 + frequency)).ln();
                }
                let value = f64::from(count) / memory_total * *weight;
                squares.push(value.powi(2));
                if let Some(share) = shares.get(&word) {
                    products.push(value * (share * *weight));
                }
            }
            let lengths = sum(&mut squares).sqrt() * length;
            if lengths > 0.0 {
                let score = sum(&mut products) / lengths;
                if score > 0.0 {
                    scored.push(((score * 1e12).round() as i64, number as u32, score));
                }
            }
        }
        let count = match wanted {
            Wanted::Best(count) => count.min(scored.len()),
            Wanted::AllBut(count) => scored.len().saturating_sub(count),
        };
        if count > 0 && count < scored.len() {
            scored.select_nth_unstable_by_key(count - 1, |&(step, number, _)| {
                Reverse((step, number))
            });
        }
        scored.truncate(count);
        scored.sort_unstable_by_key(|&(step, number, _)| Reverse((step, number)));
        scored
            .into_iter()
            .map(|(_, number, score)| (number, format!("{score:.4}").parse().unwrap_or(score)))
            .collect()
    }
}

/// Adds in ascending order, as the service does: the order of words must not affect a score.
fn sum(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.iter().sum()
}
