//! Finds the memories most similar to a text.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use super::{Index, LARGE, Postings};
use crate::memory::tokens::words;

/// Memories are visited in blocks whose sums fit in the processor's cache.
const BLOCK: usize = 16 * 1024;

/// The error of vector lengths per root of `A`: the drift, and rounding.
const SLACK: f64 = super::DRIFT + 1e-4;

/// The relative rounding error of sums of products.
const ROUNDING: f64 = 1e-9;

/// Scores that differ by less than one step are equal: the rest is the order of additions.
const STEPS: f64 = 1e12;

/// How many memories to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Wanted {
    Best(usize),
    /// All but this many of the worst, which is what a negative number means in the original.
    AllBut(usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::memory) struct Hit {
    pub(in crate::memory) number: u32,
    /// Rounded to four decimal places.
    pub(in crate::memory) score: f64,
}

/// A word of the query that occurs in a memory.
struct Term<'index> {
    word: u32,
    postings: &'index Postings,
    next: usize,
    /// What one occurrence adds to the product.
    product: f64,
    /// What the square of a count adds to the squared length: the query counts as a document too.
    correction: f64,
}

/// A query, ready for exact scores.
struct Query {
    /// `n` of the formula.
    documents: f64,
    /// Words that occur in a memory: number, share of the query, weight; by number.
    known: Vec<(u32, f64, f64)>,
    length: f64,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    product: f64,
    correction: f64,
}

impl Index {
    pub(in crate::memory) fn search(&self, text: &str, wanted: Wanted) -> Vec<Hit> {
        if wanted == Wanted::Best(0) {
            return Vec::new();
        }
        let query = self.query(text);
        let candidates = self.candidates(&query, wanted);
        let mut scored: Vec<(i64, u32, f64)> = candidates
            .into_iter()
            .map(|number| (number, self.score(&query, number)))
            .filter(|&(_, score)| score > 0.0)
            .map(|(number, score)| ((score * STEPS).round() as i64, number, score))
            .collect();
        scored.sort_unstable_by_key(|&(step, number, _)| Reverse((step, number)));
        scored.truncate(match wanted {
            Wanted::Best(count) => count,
            Wanted::AllBut(count) => scored.len().saturating_sub(count),
        });
        scored
            .into_iter()
            .map(|(_, number, score)| Hit {
                number,
                score: rounded(score),
            })
            .collect()
    }

    fn query(&self, text: &str) -> Query {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let mut total = 0.0;
        words(text, |word| {
            *counts.entry(word.to_owned()).or_default() += 1;
            total += 1.0;
        });
        let documents = self.len() as f64 + 1.0;
        let mut known = Vec::new();
        let mut squares = Vec::new();
        for (word, count) in counts {
            let word = self.words.get(word.as_str()).copied();
            let frequency = word.map_or(0.0, |word| self.postings[word as usize].frequency());
            let weight = (documents / (2.0 + frequency)).ln();
            let share = f64::from(count) / total;
            squares.push((share * weight).powi(2));
            if let Some(word) = word {
                known.push((word, share, weight));
            }
        }
        known.sort_unstable_by_key(|&(word, _, _)| word);
        Query {
            documents,
            known,
            length: sum(squares).sqrt(),
        }
    }

    /// Returns the memories that may be among the best, in no particular order.
    fn candidates(&self, query: &Query, wanted: Wanted) -> Vec<u32> {
        let log = query.documents.ln();
        let mut terms: Vec<Term<'_>> = query
            .known
            .iter()
            .map(|&(word, share, weight)| {
                let postings = &self.postings[word as usize];
                Term {
                    word,
                    postings,
                    next: 0,
                    product: share * weight * weight,
                    correction: weight * weight - (log - postings.applied).powi(2),
                }
            })
            .collect();
        let mut best = Best::new(wanted);
        let mut sums = vec![Sum::default(); BLOCK.min(self.len())];
        while let Some(first) = terms.iter().filter_map(Term::number).min() {
            let begin = first as usize / BLOCK * BLOCK;
            let sums_here = BLOCK.min(self.len() - begin);
            let sums = &mut sums[..sums_here];
            for term in &mut terms {
                self.accumulate(term, begin, sums);
            }
            for (offset, sum) in sums.iter_mut().enumerate() {
                if sum.product > 0.0 {
                    let number = begin + offset;
                    self.consider(number, *sum, log, &mut best);
                }
                *sum = Sum::default();
            }
        }
        best.into_candidates()
    }

    /// Adds a word's memories of one block.
    fn accumulate(&self, term: &mut Term<'_>, begin: usize, sums: &mut [Sum]) {
        let memories = &term.postings.memories[term.next..];
        let counts = &term.postings.counts[term.next..];
        let end = (begin + sums.len()) as u32;
        let mut done = 0;
        for (&number, &kept) in memories.iter().zip(counts) {
            if number >= end {
                break;
            }
            let count = if kept == LARGE {
                self.count(number, term.word, kept)
            } else {
                f64::from(kept)
            };
            let sum = &mut sums[number as usize - begin];
            sum.product += term.product * count;
            sum.correction += term.correction * count * count;
            done += 1;
        }
        term.next += done;
    }

    fn consider(&self, number: usize, sum: Sum, log: f64, best: &mut Best) {
        let kept = &self.sums[number];
        let square = log * (log * kept.a - 2.0 * kept.b) + kept.c + sum.correction;
        let square = square.max(0.0);
        // Most are far below the floor and need no square roots.
        let precise = SLACK * SLACK * kept.a <= 0.01 * square;
        if precise && sum.product * sum.product < best.floor * best.floor * 0.81 * square {
            return;
        }
        let (length, slack) = (square.sqrt(), SLACK * kept.a.sqrt());
        let shortest = length - slack;
        let highest = if shortest > 0.0 {
            sum.product / shortest * (1.0 + ROUNDING)
        } else {
            f64::INFINITY
        };
        if highest >= best.floor {
            let lowest = sum.product / (length + slack) * (1.0 - ROUNDING);
            best.add(number as u32, lowest, highest);
        }
    }

    /// Computes the score by the formula.
    fn score(&self, query: &Query, number: u32) -> f64 {
        let memory = &self.memories[number as usize];
        let total = f64::from(memory.total);
        let mut squares = Vec::with_capacity(memory.distinct as usize);
        let mut products = Vec::with_capacity(query.known.len());
        for position in self.word_positions(number) {
            let word = self.contents[position];
            let share = self.count(number, word, self.counts[position]) / total;
            let asked = query
                .known
                .binary_search_by_key(&word, |&(word, _, _)| word);
            let weight = match asked {
                Ok(found) => {
                    let (_, asked_share, weight) = query.known[found];
                    products.push(share * weight * (asked_share * weight));
                    weight
                }
                Err(_) => {
                    let frequency = self.postings[word as usize].frequency();
                    (query.documents / (1.0 + frequency)).ln()
                }
            };
            squares.push((share * weight).powi(2));
        }
        let lengths = sum(squares).sqrt() * query.length;
        if lengths > 0.0 {
            sum(products) / lengths
        } else {
            0.0
        }
    }
}

impl Term<'_> {
    fn number(&self) -> Option<u32> {
        self.postings.memories.get(self.next).copied()
    }
}

/// The best lower bounds so far, and all candidates that may reach them.
struct Best {
    wanted: Option<usize>,
    lowest: BinaryHeap<Reverse<Total>>,
    /// A memory that cannot reach this is not among the best.
    floor: f64,
    candidates: Vec<(u32, f64)>,
    /// How many candidates there may be before those below the floor are dropped.
    room: usize,
}

impl Best {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted: match wanted {
                Wanted::Best(count) => Some(count),
                Wanted::AllBut(_) => None,
            },
            lowest: BinaryHeap::new(),
            floor: 0.0,
            candidates: Vec::new(),
            room: 1024,
        }
    }

    fn add(&mut self, number: u32, lowest: f64, highest: f64) {
        self.candidates.push((number, highest));
        let Some(wanted) = self.wanted else { return };
        self.lowest.push(Reverse(Total(lowest)));
        if self.lowest.len() > wanted {
            self.lowest.pop();
        }
        if self.lowest.len() == wanted
            && let Some(Reverse(Total(floor))) = self.lowest.peek()
        {
            self.floor = *floor;
        }
        if self.candidates.len() > self.room {
            let floor = self.floor;
            self.candidates.retain(|&(_, highest)| highest >= floor);
            self.room = 1024.max(2 * self.candidates.len());
        }
    }

    fn into_candidates(self) -> Vec<u32> {
        self.candidates
            .into_iter()
            .filter(|&(_, highest)| highest >= self.floor)
            .map(|(number, _)| number)
            .collect()
    }
}

#[derive(PartialEq)]
struct Total(f64);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Adds in ascending order, so that the same numbers give the same sum whatever their order.
fn sum(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.into_iter().sum()
}

/// Rounds to four decimal places, as Python does.
fn rounded(score: f64) -> f64 {
    format!("{score:.4}").parse().unwrap_or(score)
}
