use tokio::sync::mpsc;

use super::*;
use crate::bus::link::End;
use crate::bus::message::Key;

fn data(first: u64, frames: Option<u64>, ends: bool) -> Kind {
    Kind::Data(Data {
        first,
        frames,
        ends,
    })
}

/// A part of `whole`, as the unit of the same number.
fn part(index: u64, count: u64, whole: &[u8]) -> Kind {
    Kind::Part(Part {
        first: index,
        index,
        count,
        total: (index == 0).then_some(whole.len()),
        digest: (index + 1 == count).then(|| hex(&Sha256::digest(whole))),
        ends: false,
    })
}

fn link() -> Link {
    let (arrivals, _) = mpsc::channel(1);
    Link::new(Key::new(), End::Caller, String::new(), arrivals)
}

#[test]
fn frames_come_out_in_order() {
    let mut incoming = Incoming::new(1000);
    incoming
        .take(data(0, None, false), Bytes::from("one"))
        .unwrap();
    let two = Bytes::from_static(b"\0\0\0\x03two\0\0\0\x05three");
    incoming.take(data(1, Some(2), true), two).unwrap();
    assert!(incoming.has_arrived());
    for expected in ["one", "two", "three"] {
        assert!(!incoming.has_ended());
        assert_eq!(incoming.pop().unwrap(), expected);
    }
    assert!(incoming.has_ended());
    assert_eq!(incoming.pop(), None);
}

#[test]
fn a_missing_message_is_a_gap() {
    let mut incoming = Incoming::new(1000);
    incoming
        .take(data(0, None, false), Bytes::from("a"))
        .unwrap();
    let late = incoming.take(data(2, None, false), Bytes::from("c"));
    assert_eq!(late, Err(BusFailure::Gap));
    assert_eq!(
        incoming.take(Kind::End { units: 2 }, Bytes::new()),
        Err(BusFailure::Gap)
    );
    incoming.take(Kind::End { units: 1 }, Bytes::new()).unwrap();
    assert!(incoming.has_arrived());
}

#[test]
fn parts_become_the_frame_they_were() {
    let whole = b"abcdefgh";
    let mut incoming = Incoming::new(1000);
    incoming
        .take(part(0, 3, whole), Bytes::from("abc"))
        .unwrap();
    incoming
        .take(part(1, 3, whole), Bytes::from("def"))
        .unwrap();
    assert_eq!(incoming.pop(), None);
    incoming.take(part(2, 3, whole), Bytes::from("gh")).unwrap();
    assert_eq!(incoming.pop().unwrap(), &whole[..]);
    assert_eq!(incoming.read, 3, "every part is a unit");
}

#[test]
fn damaged_parts_are_refused() {
    let whole = b"abcdef";
    let mut incoming = Incoming::new(1000);
    incoming
        .take(part(0, 2, whole), Bytes::from("abc"))
        .unwrap();
    let wrong = incoming.take(part(1, 2, whole), Bytes::from("dxf"));
    assert!(matches!(wrong, Err(BusFailure::Unreadable(_))), "{wrong:?}");

    let mut incoming = Incoming::new(5);
    let long = incoming.take(part(0, 2, whole), Bytes::from("abc"));
    assert!(matches!(long, Err(BusFailure::Unreadable(_))), "{long:?}");

    let mut incoming = Incoming::new(1000);
    incoming
        .take(part(0, 3, whole), Bytes::from("abc"))
        .unwrap();
    let skipped = incoming.take(
        Kind::Part(Part {
            first: 1,
            index: 2,
            count: 3,
            total: None,
            digest: None,
            ends: false,
        }),
        Bytes::from("def"),
    );
    assert_eq!(skipped, Err(BusFailure::Gap));

    let mut incoming = Incoming::new(1000);
    let short = Bytes::from_static(b"\0\0\0\x09two");
    let short = incoming.take(data(0, Some(1), false), short);
    assert!(matches!(short, Err(BusFailure::Unreadable(_))), "{short:?}");
}

#[test]
fn credit_is_due_when_half_of_the_window_was_read() {
    let link = link();
    let mut incoming = Incoming::new(1000);
    for unit in 0..WINDOW / 2 {
        incoming
            .take(data(unit, None, false), Bytes::from("x"))
            .unwrap();
        assert_eq!(
            incoming.due_credit(&link),
            None,
            "what was not read needs none"
        );
    }
    for _ in 0..WINDOW / 2 - 1 {
        incoming.pop().unwrap();
        assert_eq!(incoming.due_credit(&link), None);
    }
    incoming.pop().unwrap();
    assert_eq!(incoming.due_credit(&link), Some(WINDOW + WINDOW / 2));
    assert_eq!(incoming.due_credit(&link), None);
    assert_eq!(link.granted(), WINDOW + WINDOW / 2);
}

#[test]
fn long_frames_need_credit_sooner() {
    let link = link();
    let mut incoming = Incoming::new(WINDOW_BYTES);
    let long = Bytes::from(vec![0; WINDOW_BYTES / 2]);
    incoming.take(data(0, None, false), long).unwrap();
    incoming.pop().unwrap();
    assert_eq!(incoming.due_credit(&link), Some(WINDOW + 1));
}
