//! Reads the text format as strictly as its description: every sample belongs to a family with HELP and
//! TYPE before it, families are not split, labels are escaped, and buckets add up.

use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

pub(crate) struct Scrape {
    samples: BTreeMap<(String, Labels), f64>,
}

struct Family {
    name: String,
    kind: String,
}

impl Scrape {
    pub(crate) fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line must end");
        let mut families: Vec<Family> = Vec::new();
        let mut help = None;
        let mut samples = BTreeMap::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, words) = rest.split_once(' ').expect("HELP has a text");
                assert!(!words.is_empty());
                help = Some(name.to_owned());
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("TYPE has a type");
                assert_eq!(help.take().as_deref(), Some(name), "HELP comes before TYPE");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
                assert!(name.starts_with("zino_") && is_name(name), "{name}");
                assert!(
                    families.iter().all(|family| family.name != name),
                    "{name} twice"
                );
                if kind == "counter" {
                    assert!(name.ends_with("_total"), "{name} is a counter");
                }
                families.push(Family {
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                });
            } else {
                let (name, labels, value) = sample(line);
                let family = families.last().expect("a sample has a family");
                assert!(family.has(&name), "{name} is not of {}", family.name);
                let previous = samples.insert((name.clone(), labels), value);
                assert!(previous.is_none(), "{line} is there twice");
            }
        }
        let scrape = Self { samples };
        for family in families.iter().filter(|family| family.kind == "histogram") {
            scrape.check_histogram(&family.name);
        }
        scrape
    }

    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let key = (name.to_owned(), labels.iter().map(owned).collect());
        *self
            .samples
            .get(&key)
            .unwrap_or_else(|| panic!("no {name} {labels:?}"))
    }

    /// All values of a label, in order.
    pub(crate) fn labels(&self, name: &str, label: &str) -> Vec<String> {
        let of_name = self.samples.keys().filter(|(known, _)| known == name);
        of_name.map(|(_, labels)| labels[label].clone()).collect()
    }

    fn check_histogram(&self, name: &str) {
        let mut series: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for ((sample, labels), count) in &self.samples {
            if *sample == format!("{name}_bucket") {
                let mut labels = labels.clone();
                let bound = labels.remove("le").expect("a bucket has a bound");
                let bound = number(&bound);
                series.entry(labels).or_default().push((bound, *count));
            }
        }
        for (labels, mut buckets) in series {
            buckets.sort_by(|left, right| left.0.total_cmp(&right.0));
            assert!(
                buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1),
                "{name} {labels:?}"
            );
            let (last, all) = *buckets.last().unwrap();
            assert_eq!(last, f64::INFINITY);
            assert_eq!(
                self.samples[&(format!("{name}_count"), labels.clone())],
                all
            );
            let sum = self.samples[&(format!("{name}_sum"), labels)];
            let lowest: f64 = buckets
                .windows(2)
                .map(|pair| pair[0].0 * (pair[1].1 - pair[0].1))
                .sum();
            assert!(sum >= lowest, "{name}: the sum {sum} is below {lowest}");
        }
    }
}

impl Family {
    fn has(&self, sample: &str) -> bool {
        match self.kind.as_str() {
            "histogram" => ["_bucket", "_sum", "_count"]
                .iter()
                .any(|suffix| *sample == format!("{}{suffix}", self.name)),
            _ => self.name == sample,
        }
    }
}

fn is_name(name: &str) -> bool {
    let fits = |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(fits)
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        text => text
            .parse()
            .unwrap_or_else(|_| panic!("{text} is not a number")),
    }
}

/// Reads `name{label="value",…} number`.
fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).expect("a sample has a value");
    let name = &line[..end];
    assert!(is_name(name), "{line}");
    let mut labels = Labels::new();
    let rest = match line[end..].strip_prefix('{') {
        None => &line[end..],
        Some(mut rest) => loop {
            let (label, after) = rest.split_once("=\"").expect("a label has a value");
            assert!(is_name(label), "{line}");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None => break after.strip_prefix('}').expect("labels end"),
            }
        },
    };
    let value = rest.strip_prefix(' ').expect("a blank before the value");
    (name.to_owned(), labels, number(value))
}

/// Returns a label's value without its escapes, and what follows the closing quote.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '"' => return (value, &text[position + 1..]),
            '\\' => value.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, escaped @ ('\\' | '"'))) => escaped,
                other => panic!("{other:?} is not an escape"),
            }),
            other => value.push(other),
        }
    }
    panic!("a label's value does not end: {text}")
}
