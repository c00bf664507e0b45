use zino_agent::LinkEnd;

use super::WorkerLines;

#[test]
fn a_line_that_is_too_long_ends_the_link() {
    let mut lines = WorkerLines::with_limit(20);
    lines.feed(b"{\"type\":\"done\"}\n{\"type\":\"text_delta\"}\n{}\n");
    let mut taken = Vec::new();
    let end = lines.take(|line| taken.push(line.to_vec()));
    assert!(matches!(end, Some(LinkEnd::Lost(_))), "{end:?}");
    assert_eq!(taken, [br#"{"type":"done"}"#]);
}

#[test]
fn the_reason_of_the_worker_counts() {
    let mut lines = WorkerLines::default();
    assert_eq!(lines.end("cut"), LinkEnd::Lost("cut".to_owned()));
    lines.feed(b"{\"type\":\"closed\",\"reason\":\"finished\",\"message\":\"\"}\n");
    assert_eq!(lines.take(|line| panic!("{line:?}")), None);
    assert_eq!(lines.end("cut"), LinkEnd::Finished);
}
