use super::*;

fn frames(lengths: &[usize]) -> VecDeque<Bytes> {
    let frame = |length: &usize| Bytes::from(vec![b'x'; *length]);
    lengths.iter().map(frame).collect()
}

/// How many frames a message holds, how long it is, and how many are left.
fn message(lengths: &[usize], room: u64) -> (Option<u64>, usize, usize) {
    let mut more = frames(lengths);
    let first = more.pop_front().unwrap();
    let (count, payload) = together(first, &mut more, room, 500_000);
    (count, payload.len(), more.len())
}

#[test]
fn small_frames_travel_together() {
    assert_eq!(message(&[10], 64), (None, 10, 0));
    assert_eq!(message(&[10, 20], 64), (Some(2), 38, 0));
    assert_eq!(message(&[10, 20], 1), (None, 10, 1));
    assert_eq!(message(&[10, 20, 30], 2), (Some(2), 38, 1));
    assert_eq!(message(&[10, 70_000], 64), (None, 10, 1));
    assert_eq!(message(&[70_000, 10], 64), (None, 70_000, 1));
    assert_eq!(message(&[30_000, 30_000, 30_000], 64), (Some(2), 60_008, 1));
}

#[test]
fn no_more_is_sent_than_the_other_end_has_read_and_allows() {
    let mut outgoing = Outgoing::new(None);
    assert!(!outgoing.fits(0, 1), "without credit nothing is sent");
    for _ in 0..WINDOW {
        assert!(outgoing.fits(WINDOW, 1));
        outgoing.note(1, 1);
    }
    assert!(!outgoing.fits(WINDOW, 1));
    assert!(outgoing.fits(WINDOW + 1, 1));
}

#[test]
fn long_messages_wait_for_those_before() {
    let mut outgoing = Outgoing::new(None);
    assert!(
        outgoing.fits(WINDOW, WINDOW_BYTES * 4),
        "one alone may be longer"
    );
    outgoing.note(1, WINDOW_BYTES);
    assert!(!outgoing.fits(WINDOW, 1));
    assert!(outgoing.fits(WINDOW + 1, 1), "the first one was read");
    outgoing.note(1, WINDOW_BYTES / 2);
    assert!(outgoing.fits(WINDOW + 1, WINDOW_BYTES / 2));
    assert!(!outgoing.fits(WINDOW + 1, WINDOW_BYTES / 2 + 1));
}
