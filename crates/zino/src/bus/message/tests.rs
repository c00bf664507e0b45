use super::*;

fn key() -> Key {
    Key {
        call: 0x0123_4567_89ab_cdef,
        attempt: 2,
    }
}

#[test]
fn a_key_is_two_tokens() {
    assert_eq!(key().to_string(), "00000000000000000123456789abcdef.2");
    assert_eq!(key().to_string().parse::<Key>().unwrap(), key());
    for text in ["", "12", "x.1", "12.", "12.1.1"] {
        assert!(text.parse::<Key>().is_err(), "{text:?}");
    }
    assert_ne!(Key::new(), Key::new());
    let attempts: Vec<u32> = key().attempts_so_far().map(|key| key.attempt).collect();
    assert_eq!(attempts, [2, 1]);
}

#[test]
fn what_is_written_is_read() {
    let kinds = [
        Kind::Accept,
        Kind::Data(Data {
            first: 3,
            frames: None,
            ends: true,
        }),
        Kind::Data(Data {
            first: 0,
            frames: Some(12),
            ends: false,
        }),
        Kind::Part(Part {
            first: 7,
            index: 0,
            count: 4,
            total: Some(9),
            digest: None,
            ends: false,
        }),
        Kind::Part(Part {
            first: 8,
            index: 1,
            count: 4,
            total: None,
            digest: Some("ab".to_owned()),
            ends: true,
        }),
        Kind::End { units: 5 },
        Kind::Refuse {
            reason: "draining".to_owned(),
        },
        Kind::Credit { limit: 96 },
        Kind::Cancel,
    ];
    for kind in kinds {
        for control in [None, Some("zino.a.ctl.rtr.b".to_owned())] {
            let envelope = Envelope {
                kind: kind.clone(),
                control,
            };
            assert_eq!(Envelope::read(&envelope.write()), Some(envelope));
        }
    }
    for body in [Body::Here, Body::Later { total: 70_000_000 }] {
        let head = RequestHead {
            key: key(),
            window: 64,
            body,
        };
        assert_eq!(RequestHead::read(&head.write()), Some(head));
    }
    let sign = Sign {
        key: key(),
        sent: 1,
        granted: 64,
    };
    assert_eq!(Sign::read(sign.to_string().trim_end()), Some(sign));
}

#[test]
fn messages_of_a_later_version_are_ignored() {
    let mut headers = Kind::Accept.write();
    headers.insert("Zino-Colour", "red");
    assert!(Envelope::read(&headers).is_some());
    headers.insert("Zino-Kind", "sing");
    assert!(Envelope::read(&headers).is_none());
    let later = format!("{} 1 2 3 red", key());
    assert_eq!(Sign::read(&later).map(|sign| sign.granted), Some(2));
}
