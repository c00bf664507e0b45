use std::collections::HashMap;

use serde_json::Value;
use testkit::Workdir;

use super::{Corpus, write_history, write_memories};

#[test]
fn files_are_what_python_would_write() {
    let workdir = Workdir::new("corpus");
    for (name, count) in [("none", 0), ("one", 1), ("three", 3)] {
        let memories = workdir.path().join(name).join("hard_memories.json");
        let history = workdir.path().join(name).join("history.json");
        write_memories(&memories, count).unwrap();
        write_history(&history, count).unwrap();
        for path in [memories, history] {
            let text = std::fs::read_to_string(path).unwrap();
            let value: Vec<Value> = serde_json::from_str(&text).unwrap();
            assert_eq!(value.len(), count);
            assert_eq!(text.lines().filter(|line| *line == "  {").count(), count);
        }
    }
}

#[test]
fn a_memory_has_25_words_and_the_first_words_are_frequent() {
    let mut corpus = Corpus::new(1);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for _ in 0..1_000 {
        let text = corpus.memory().join(" ");
        assert_eq!(text.split(' ').count(), 25);
        for word in text.split(' ') {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    let most = counts.values().copied().max().unwrap();
    // One in ln(50,000) / ln(2) or so; and there are thousands of different words.
    assert!((1_200..2_000).contains(&most), "{most}");
    assert!(counts.len() > 5_000, "{}", counts.len());
    assert_eq!(corpus.query().split(' ').count(), 5);
}
