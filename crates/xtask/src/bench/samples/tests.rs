use std::time::Duration;

use super::Samples;

fn samples(milliseconds: impl IntoIterator<Item = u64>) -> Samples {
    milliseconds
        .into_iter()
        .map(Duration::from_millis)
        .collect()
}

#[test]
fn percentiles_do_not_depend_on_the_order() {
    let samples = samples((1..=200).rev());
    assert_eq!(samples.median(), Duration::from_millis(100));
    assert_eq!(samples.percentile(99), Duration::from_millis(198));
    assert_eq!(samples.percentile(100), Duration::from_millis(200));
    assert_eq!(samples.percentile(0), Duration::from_millis(1));
}

#[test]
fn one_outlier_of_a_hundred_is_beyond_the_99th_percentile() {
    let mut samples = samples(vec![1; 99]);
    samples.push(Duration::from_secs(1));
    assert_eq!(samples.percentile(99), Duration::from_millis(1));
    samples.push(Duration::from_secs(1));
    assert_eq!(samples.len(), 101);
    assert_eq!(samples.percentile(99), Duration::from_secs(1));
}

#[test]
fn the_99th_percentile_of_few_samples_is_the_longest() {
    assert_eq!(samples([3, 1, 2]).percentile(99), Duration::from_millis(3));
    assert_eq!(samples([3, 1, 2]).median(), Duration::from_millis(2));
    assert_eq!(samples([]).median(), Duration::ZERO);
}
