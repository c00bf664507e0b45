use std::collections::HashMap;

use proptest::prelude::*;

use super::search::{Hit, Wanted};
use super::{DRIFT, Index};
use crate::memory::tokens::words;

fn tokens(text: &str) -> Vec<String> {
    let mut list = Vec::new();
    words(text, |word| list.push(word.to_owned()));
    list
}

/// Computes the scores directly by the formula.
fn brute_force(memories: &[String], query: &str) -> Vec<(usize, f64)> {
    let documents: Vec<Vec<String>> = memories
        .iter()
        .map(String::as_str)
        .chain([query])
        .map(tokens)
        .collect();
    let n = documents.len() as f64;
    let mut frequency: HashMap<&str, f64> = HashMap::new();
    for document in &documents {
        let mut distinct: Vec<&str> = document.iter().map(String::as_str).collect();
        distinct.sort_unstable();
        distinct.dedup();
        for word in distinct {
            *frequency.entry(word).or_default() += 1.0;
        }
    }
    let vector = |document: &[String]| -> HashMap<String, f64> {
        let mut counts: HashMap<String, f64> = HashMap::new();
        for word in document {
            *counts.entry(word.clone()).or_default() += 1.0;
        }
        let total = document.len() as f64;
        counts
            .into_iter()
            .map(|(word, count)| {
                let idf = (n / (1.0 + frequency[word.as_str()])).ln();
                (word, count / total * idf)
            })
            .collect()
    };
    let length = |vector: &HashMap<String, f64>| -> f64 {
        vector
            .values()
            .map(|value| value * value)
            .sum::<f64>()
            .sqrt()
    };
    let asked = vector(&documents[memories.len()]);
    let mut scores: Vec<(usize, f64)> = (0..memories.len())
        .map(|number| {
            let memory = vector(&documents[number]);
            let dot: f64 = asked
                .iter()
                .map(|(word, value)| value * memory.get(word).copied().unwrap_or(0.0))
                .sum();
            let lengths = length(&asked) * length(&memory);
            (number, if lengths > 0.0 { dot / lengths } else { 0.0 })
        })
        .filter(|&(_, score)| score > 0.0)
        .collect();
    scores.sort_by(|left, right| {
        let close = (left.1 - right.1).abs() < 1e-11;
        let by_score = right.1.total_cmp(&left.1);
        if close {
            right.0.cmp(&left.0)
        } else {
            by_score
        }
    });
    scores
}

fn agrees(found: &[Hit], expected: &[(usize, f64)]) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len(), "{:?} {:?}", found, expected);
    for (hit, &(number, score)) in found.iter().zip(expected) {
        prop_assert_eq!(hit.number as usize, number, "{:?} {:?}", found, expected);
        // A little more, for scores exactly between two roundings.
        prop_assert!(
            (hit.score - score).abs() < 0.000_050_1,
            "{} {}",
            hit.score,
            score
        );
    }
    Ok(())
}

#[derive(Debug, Clone)]
enum Step {
    Add(String),
    Remove(prop::sample::Index),
    Search(String, usize),
}

fn text(words: usize) -> impl Strategy<Value = String> {
    // Few words, some far more frequent than others, so that all kinds of weights come up.
    let word = prop_oneof![
        4 => Just("the".to_owned()),
        3 => "[ab]",
        2 => "[a-h]",
        1 => "[A-Z]{1,2}",
        1 => "[0-9é_K-]{1,3}",
    ];
    prop::collection::vec(word, 0..words).prop_map(|words| words.join(" "))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => text(9).prop_map(Step::Add),
        1 => text(3).prop_map(|text| Step::Add(format!("{text} ").repeat(300))),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
        3 => (text(6), 1usize..6).prop_map(|(text, count)| Step::Search(text, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn scores_match_the_formula(
        begin in prop::collection::vec(text(9), 0..60),
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let mut memories = begin;
        let mut index = Index::filling();
        for memory in &memories {
            prop_assert!(index.add(&[memory]));
        }
        index.settle();
        for step in steps {
            match step {
                Step::Add(text) => {
                    index.add(&[&text]);
                    memories.push(text);
                }
                Step::Remove(at) => if !memories.is_empty() {
                    let number = at.index(memories.len());
                    index.remove(number as u32);
                    memories[number].clear();
                }
                Step::Search(query, count) => {
                    let expected = brute_force(&memories, &query);
                    let all = index.search(&query, Wanted::AllBut(0));
                    agrees(&all, &expected)?;
                    let some = index.search(&query, Wanted::Best(count));
                    agrees(&some, &expected[..count.min(expected.len())])?;
                    let fewer = index.search(&query, Wanted::AllBut(1));
                    agrees(&fewer, &expected[..expected.len().saturating_sub(1)])?;
                }
            }
        }
        for word in 0..index.postings.len() {
            let postings = &index.postings[word];
            let drift = (1.0 + postings.frequency()).ln() - postings.applied;
            prop_assert!(drift.abs() <= DRIFT);
        }
    }
}

#[test]
fn many_blocks_with_sums_that_have_drifted() {
    // Words drawn so that low ones are frequent; the sums are made early and then followed.
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut index = Index::default();
    let mut memories = Vec::new();
    for _ in 0..17_000 {
        let words: Vec<String> = (0..1 + draw(12))
            .map(|_| {
                let limit = 1 + draw(400);
                format!("w{}", draw(limit))
            })
            .collect();
        let text = words.join(" ");
        index.add(&[&text]);
        memories.push(text);
    }
    for query in [
        "w0",
        "w0 w1 w2",
        "w399 w0",
        "w17 w300 w5 unknown",
        "w250 w251 w252",
    ] {
        let expected = brute_force(&memories, query);
        for count in [1, 3, 50] {
            let found = index.search(query, Wanted::Best(count));
            agrees(&found, &expected[..count.min(expected.len())]).unwrap();
        }
    }
}
