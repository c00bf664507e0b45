use std::time::Duration;

use super::text::Text;
use super::value::Histogram;
use super::{ErrorLabel, of, of_named, text};
use crate::kind::ServiceKind;

#[test]
fn a_service_appears_with_its_capacity() {
    let service = of(ServiceKind::Executor);
    assert!(!text().contains("service=\"exc\""));
    service.set_capacity(16);
    let running = service.begin();
    let busy = text();
    assert!(busy.contains("zino_requests_total{service=\"exc\"} 1\n"));
    assert!(busy.contains("zino_in_flight{service=\"exc\"} 1\n"));
    assert!(busy.contains("zino_capacity{service=\"exc\"} 16\n"));
    drop(running);
    service.count_error(ErrorLabel::of_code("moved"));
    service.count_error(ErrorLabel::of_code("a code of a later version"));
    let idle = text();
    assert!(idle.contains("zino_in_flight{service=\"exc\"} 0\n"));
    assert!(idle.contains("zino_errors_total{service=\"exc\",code=\"moved\"} 1\n"));
    assert!(idle.contains("zino_errors_total{service=\"exc\",code=\"error\"} 1\n"));
}

#[test]
fn a_named_service_is_registered_once() {
    let service = of_named("agent.build");
    service.set_capacity(256);
    assert!(std::ptr::eq(service, of_named("agent.build")));
    assert!(text().contains("zino_capacity{service=\"agent.build\"} 256\n"));
}

#[test]
fn a_duration_counts_in_its_bucket_and_all_larger_ones() {
    let histogram = Histogram::new();
    for milliseconds in [1, 2, 100_000] {
        histogram.record(Duration::from_millis(milliseconds));
    }
    let counts = histogram.cumulative();
    assert_eq!(counts[..4], [0, 1, 2, 2], "a bound belongs to its bucket");
    assert_eq!(counts[15..], [2, 3]);
    assert!((histogram.sum_seconds() - 100.003).abs() < 1e-9);
}

#[test]
fn labels_are_escaped() {
    let mut text = Text::default();
    text.sample(
        "x",
        &[("a", "back\\slash \"quote\" line\nend"), ("b", "é")],
        2,
    );
    assert_eq!(
        text.into_string(),
        "x{a=\"back\\\\slash \\\"quote\\\" line\\nend\",b=\"é\"} 2\n"
    );
}
