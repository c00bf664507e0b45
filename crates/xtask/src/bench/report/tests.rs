use std::time::Duration;

use super::{Quantity, Row};

fn row(value: Quantity, target: Option<Quantity>) -> String {
    let row = Row {
        what: "tool call".to_owned(),
        value,
        floor: Some(("bare pipe", Quantity::Time(Duration::from_micros(20)))),
        target,
        original: "",
    };
    row.to_string()
}

#[test]
fn a_row_shows_whether_its_target_is_met() {
    let value = Quantity::Time(Duration::from_micros(30));
    assert_eq!(
        row(value, Some(Quantity::milliseconds(0.03))),
        "| tool call | 30.0 µs | 20.0 µs (bare pipe) | ≤ 30.0 µs | yes |  |"
    );
    assert_eq!(
        row(value, Some(Quantity::milliseconds(0.029))),
        "| tool call | 30.0 µs | 20.0 µs (bare pipe) | ≤ 29.0 µs | **no** |  |"
    );
    assert_eq!(
        row(value, None),
        "| tool call | 30.0 µs | 20.0 µs (bare pipe) | |  |  |"
    );
}

#[test]
fn ratios_have_their_own_targets() {
    let ratio =
        |value, floor| Quantity::ratio(Duration::from_micros(value), Duration::from_micros(floor));
    assert!(row(ratio(31, 20), Some(Quantity::Ratio(1.5))).contains("| 1.55 × |"));
    assert!(row(ratio(31, 20), Some(Quantity::Ratio(1.5))).contains("| ≤ 1.50 × | **no** |"));
    assert!(row(ratio(30, 20), Some(Quantity::Ratio(1.5))).contains("| ≤ 1.50 × | yes |"));
}

#[test]
fn higher_rates_are_better() {
    let enough = row(Quantity::Rate(3000.0), Some(Quantity::Rate(3000.0)));
    assert!(enough.contains("| ≥ 3000/s | yes |"));
    let too_few = row(Quantity::Rate(2999.0), Some(Quantity::Rate(3000.0)));
    assert!(too_few.contains("| ≥ 3000/s | **no** |"));
}

#[test]
fn quantities_have_about_three_digits() {
    let shown = |microseconds| Quantity::Time(Duration::from_micros(microseconds)).to_string();
    assert_eq!(shown(99), "99.0 µs");
    assert_eq!(shown(116), "0.116 ms");
    assert_eq!(shown(2_140), "2.14 ms");
    assert_eq!(shown(13_000), "13.0 ms");
    assert_eq!(Quantity::Bytes(5 << 20).to_string(), "5.00 MiB");
    assert_eq!(Quantity::Share(0.0625).to_string(), "6.2 %");
}
