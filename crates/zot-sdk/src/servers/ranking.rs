//! Ranks tools by how well they match a query: BM25 over name, server and description.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

/// How often a word has to occur before more of it stops to matter.
const SATURATION: f64 = 1.2;

/// How much a long description counts against a tool.
const LENGTH_PENALTY: f64 = 0.75;

/// A word in the name says more about a tool than one in its description.
const NAME_WEIGHT: f64 = 3.0;
const SERVER_WEIGHT: f64 = 2.0;
const DESCRIPTION_WEIGHT: f64 = 1.0;

/// What a word counts that only begins like the query's: `repo` finds `repository`.
const PREFIX_FACTOR: f64 = 0.5;

/// The shortest word of a query that finds longer words.
const MIN_PREFIX_LENGTH: usize = 3;

/// The most words of a query that count.
///
/// Limit: further words are ignored.
const MAX_QUERY_WORDS: usize = 64;

/// What is known about a tool.
pub(crate) struct Document<'a> {
    /// As the model calls it.
    pub(crate) name: &'a str,
    pub(crate) server: &'a str,
    pub(crate) description: &'a str,
}

/// Returns the documents that match, by their index, best first. Those that match equally well stay in
/// their order; one that is named exactly comes first.
pub(crate) fn rank(query: &str, documents: &[Document<'_>]) -> Vec<usize> {
    let mut wanted = words(query);
    wanted.truncate(MAX_QUERY_WORDS);
    wanted.sort();
    wanted.dedup();
    let counted: Vec<Counted> = documents.iter().map(Counted::new).collect();
    let all: f64 = counted.iter().map(|document| document.length).sum();
    let average = all / (counted.len().max(1) as f64);
    let mut scores = vec![0.0; documents.len()];
    for word in &wanted {
        let frequencies: Vec<f64> = counted.iter().map(|known| known.frequency(word)).collect();
        let having = frequencies.iter().filter(|frequency| **frequency > 0.0);
        let having = having.count() as f64;
        let rarity = ((documents.len() as f64 - having + 0.5) / (having + 0.5) + 1.0).ln();
        for ((score, frequency), known) in scores.iter_mut().zip(frequencies).zip(&counted) {
            let length = 1.0 - LENGTH_PENALTY + LENGTH_PENALTY * known.length / average.max(1.0);
            *score += rarity * frequency * (SATURATION + 1.0) / (frequency + SATURATION * length);
        }
    }
    let named = |index: usize| {
        let mut asked = query.split(|sign: char| sign.is_whitespace() || sign == ',');
        asked.any(|name| name == documents[index].name)
    };
    let mut found: Vec<usize> = (0..documents.len())
        .filter(|&index| scores[index] > 0.0 || named(index))
        .collect();
    found.sort_by(|&left, &right| {
        let scored = scores[right].partial_cmp(&scores[left]);
        let scored = scored.unwrap_or(Ordering::Equal);
        named(right).cmp(&named(left)).then(scored)
    });
    found
}

/// The words of a document, each with its weight.
struct Counted {
    words: Vec<(String, f64)>,
    length: f64,
}

impl Counted {
    fn new(document: &Document<'_>) -> Self {
        let fields = [
            (document.name, NAME_WEIGHT),
            (document.server, SERVER_WEIGHT),
            (document.description, DESCRIPTION_WEIGHT),
        ];
        let words = fields.iter().flat_map(|(text, weight)| {
            let words = words(text).into_iter();
            words.map(|word| (word, *weight))
        });
        let words: Vec<(String, f64)> = words.collect();
        let length = words.iter().map(|(_, weight)| weight).sum();
        Self { words, length }
    }

    fn frequency(&self, wanted: &str) -> f64 {
        let counted = self.words.iter().map(|(word, weight)| {
            if word == wanted {
                *weight
            } else if wanted.len() >= MIN_PREFIX_LENGTH && word.starts_with(wanted) {
                PREFIX_FACTOR * weight
            } else {
                0.0
            }
        });
        counted.sum()
    }
}

/// Splits a text into words in lower case: at everything that is no letter or digit, and where
/// `camelCase` goes on in upper case. A plural is its singular.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for sign in text.chars() {
        let ends = !sign.is_alphanumeric() || was_lower && sign.is_uppercase();
        if ends && !word.is_empty() {
            words.push(singular(std::mem::take(&mut word)));
        }
        if sign.is_alphanumeric() {
            word.extend(sign.to_lowercase());
        }
        was_lower = sign.is_lowercase() || sign.is_ascii_digit();
    }
    if !word.is_empty() {
        words.push(singular(word));
    }
    words
}

fn singular(mut word: String) -> String {
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    word
}
