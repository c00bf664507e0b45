use proptest::prelude::*;
use zot_conversation::Timestamp;

use super::*;

fn message(text: &str) -> Arc<Message> {
    Arc::new(Message::user_text(text, Timestamp::UNIX_EPOCH))
}

fn serialise(message: &Message, buffer: &mut Vec<u8>) {
    let text = message.text();
    if !text.is_empty() {
        buffer.push(b',');
        buffer.extend_from_slice(text.as_bytes());
    }
}

fn from_scratch(messages: &[Arc<Message>]) -> Vec<u8> {
    let mut buffer = Vec::new();
    for message in messages {
        serialise(message, &mut buffer);
    }
    buffer
}

fn joined(pieces: impl Iterator<Item = Bytes>) -> Vec<u8> {
    pieces.collect::<Vec<_>>().concat()
}

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<usize>),
    Replace(usize, usize),
    Truncate(usize),
    Ask,
    /// Another conversation, as a compaction would have.
    Side(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![4 => 0usize..200, 1 => 100_000usize..300_000];
    prop_oneof![
        4 => prop::collection::vec(length.clone(), 1..6).prop_map(Step::Append),
        1 => (0usize..64, length.clone()).prop_map(|(index, length)| Step::Replace(index, length)),
        1 => (0usize..64).prop_map(Step::Truncate),
        6 => Just(Step::Ask),
        1 => length.prop_map(Step::Side),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn pieces_equal_a_serialisation_from_scratch(steps in prop::collection::vec(step(), 1..40)) {
        let mut cache = MessageCache::default();
        let mut transcript: Vec<Arc<Message>> = Vec::new();
        let mut letters = ('a'..='z').cycle();
        let mut text = |length: usize| letters.next().unwrap().to_string().repeat(length);
        for step in steps {
            match step {
                Step::Append(lengths) => {
                    transcript.extend(lengths.into_iter().map(|length| message(&text(length))));
                }
                Step::Replace(index, length) => {
                    if let Some(slot) = transcript.get_mut(index) {
                        *slot = message(&text(length));
                    }
                }
                Step::Truncate(length) => transcript.truncate(length),
                Step::Side(length) => {
                    let side = [message(&text(length))];
                    prop_assert!(joined(cache.get(&side, serialise)) == from_scratch(&side));
                }
                Step::Ask => {
                    prop_assert!(joined(cache.get(&transcript, serialise)) == from_scratch(&transcript));
                }
            }
        }
    }
}

#[test]
fn a_growing_transcript_is_serialised_once_into_few_pieces() {
    let mut cache = MessageCache::default();
    let mut transcript = Vec::new();
    let mut serialised = 0;
    for _ in 0..5_000 {
        transcript.push(message("some words of a message"));
        let pieces = cache.get(&transcript, |message, buffer| {
            serialised += 1;
            serialise(message, buffer);
        });
        assert!(pieces.count() <= 20);
    }
    assert_eq!(serialised, 5_000);
}

#[test]
fn a_side_question_does_not_displace_the_conversation() {
    let mut cache = MessageCache::default();
    let transcript = [message("one"), message("two")];
    let side = [message("side")];
    cache.get(&transcript, serialise).count();
    cache.get(&side, serialise).count();
    let pieces = cache.get(&transcript, |_, _| panic!("serialised again"));
    assert_eq!(pieces.flatten().collect::<Vec<u8>>(), b",one,two");
}

#[test]
fn the_head_is_kept_while_it_is_the_same() {
    let mut cache = HeadCache::default();
    let first = cache.get("system", &[], |buffer| buffer.extend_from_slice(b"head"));
    let again = cache.get("system", &[], |_| panic!("serialised again"));
    assert_eq!(first, again);
    let changed = cache.get("other", &[], |buffer| buffer.extend_from_slice(b"new"));
    assert_eq!(changed, "new");
}
