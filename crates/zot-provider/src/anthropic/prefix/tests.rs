use zot_conversation::{Role, Timestamp};

use super::*;

const BINDING: Reader<'_> = Reader {
    provider: "anthropic",
    binds: true,
};

const LENIENT: Reader<'_> = Reader {
    provider: "anthropic",
    binds: false,
};

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user_text(text, Timestamp::UNIX_EPOCH))
}

fn answer(thought: &str, prefix: Option<String>) -> Arc<Message> {
    let reasoning = Reasoning {
        provider: "anthropic".to_owned(),
        text: thought.to_owned(),
        signature: Some("s".to_owned()),
        prefix,
        ..Reasoning::default()
    };
    Arc::new(Message {
        role: Role::Assistant,
        content: vec![
            ContentBlock::Reasoning(reasoning),
            ContentBlock::Text(format!("answer {thought}")),
        ],
        time: Timestamp::UNIX_EPOCH,
    })
}

/// Serialises what matters: the text, and the thinking unless it is left out.
fn write(message: &Message, replay: Replay, buffer: &mut Vec<u8>) {
    for block in &message.content {
        match block {
            ContentBlock::Text(text) => buffer.extend_from_slice(text.as_bytes()),
            ContentBlock::Reasoning(thought) if replay == Replay::Kept => {
                buffer.extend_from_slice(thought.text.as_bytes());
            }
            _ => {}
        }
        buffer.push(0);
    }
}

struct Talk {
    prefixes: Prefixes,
    head: &'static str,
    messages: Vec<Arc<Message>>,
}

impl Talk {
    fn new(head: &'static str) -> Self {
        Self {
            prefixes: Prefixes::default(),
            head,
            messages: Vec::new(),
        }
    }

    fn follow(&mut self, reader: &Reader<'_>) -> (Vec<bool>, String, Option<Replayed>) {
        let start = start("model", self.head.as_bytes());
        let chain = self.prefixes.follow(start, reader, &self.messages, write);
        let kept = |index| chain.replay(index) == Replay::Kept;
        let thoughts = self.messages.iter().enumerate();
        let kept = thoughts
            .filter(|(_, message)| message.role == Role::Assistant)
            .map(|(index, _)| kept(index))
            .collect();
        (kept, chain.prefix(), chain.replayed(reader.provider))
    }

    /// A prompt, and a response that is thought about.
    fn turn(&mut self, text: &str) {
        self.messages.push(user(text));
        let (_, prefix, _) = self.follow(&BINDING);
        self.messages.push(answer(text, Some(prefix)));
    }
}

fn three_turns() -> Talk {
    let mut talk = Talk::new("head");
    for text in ["a", "b", "c"] {
        talk.turn(text);
    }
    talk
}

#[test]
fn the_same_prefix_keeps_all_thinking() {
    let mut talk = three_turns();
    assert_eq!(talk.follow(&BINDING).0, [true; 3]);
    // In a new process, where nothing is remembered and every message is another object.
    let messages = talk.messages.iter();
    let messages = messages.map(|message| Arc::new((**message).clone()));
    let mut resumed = Talk {
        messages: messages.collect(),
        ..Talk::new("head")
    };
    let (kept, prefix, _) = resumed.follow(&BINDING);
    assert_eq!(kept, [true; 3]);
    assert_eq!(prefix, talk.follow(&BINDING).1);
    // Going on does not change it.
    resumed.turn("d");
    assert_eq!(resumed.follow(&BINDING).0, [true; 4]);
}

#[test]
fn another_head_drops_all_and_starts_again() {
    let mut talk = three_turns();
    talk.head = "another system prompt";
    assert_eq!(talk.follow(&BINDING).0, [false; 3]);
    talk.turn("d");
    assert_eq!(talk.follow(&BINDING).0, [false, false, false, true]);
    // Back again: what was made without the first three does not fit behind them.
    talk.head = "head";
    assert_eq!(talk.follow(&BINDING).0, [true, true, true, false]);
    assert_ne!(start("model", b"head"), start("other", b"head"));
}

#[test]
fn a_message_that_changed_drops_what_comes_after_it() {
    let mut talk = three_turns();
    talk.messages[2] = user("edited");
    assert_eq!(talk.follow(&BINDING).0, [true, false, false]);
    // After a compaction nothing before is the same.
    let mut talk = three_turns();
    talk.messages.splice(..3, [user("summary")]);
    assert_eq!(talk.follow(&BINDING).0, [false, false]);
}

#[test]
fn thinking_that_is_left_out_takes_along_what_was_made_after_it() {
    let mut talk = three_turns();
    let ContentBlock::Reasoning(first) = &talk.messages[1].content[0] else {
        panic!("no thinking")
    };
    assert!(first.prefix.is_some());
    // The first loses its mark; text and order stay.
    talk.messages[1] = answer("a", None);
    assert_eq!(talk.follow(&BINDING).0, [false, false, false]);
}

#[test]
fn part_of_a_message_is_not_replayed() {
    let mut talk = three_turns();
    let mut mixed = (*talk.messages[5]).clone();
    let ContentBlock::Reasoning(mut other) = mixed.content[0].clone() else {
        panic!("no thinking")
    };
    other.prefix = Some("elsewhere".to_owned());
    mixed.content.insert(1, ContentBlock::Reasoning(other));
    talk.messages[5] = Arc::new(mixed);
    assert_eq!(talk.follow(&BINDING).0, [true, true, false]);
}

#[test]
fn unmarked_thinking_goes_to_models_that_do_not_bind_it() {
    let mut talk = Talk::new("head");
    talk.messages = vec![user("a"), answer("a", None), user("b")];
    assert_eq!(talk.follow(&BINDING).0, [false]);
    let mut talk = Talk::new("head");
    talk.messages = vec![user("a"), answer("a", None), user("b")];
    assert_eq!(talk.follow(&LENIENT).0, [true]);
    let replayed = talk.follow(&LENIENT).2.unwrap();
    talk.prefixes.refuse(&replayed);
    assert_eq!(talk.follow(&LENIENT).0, [false]);
}

#[test]
fn what_was_refused_is_left_out_from_then_on() {
    let mut talk = three_turns();
    let replayed = talk.follow(&BINDING).2.unwrap();
    talk.prefixes.refuse(&replayed);
    assert_eq!(talk.follow(&BINDING).0, [false; 3]);
    assert!(talk.follow(&BINDING).2.is_none());
    talk.turn("d");
    assert_eq!(talk.follow(&BINDING).0, [false, false, false, true]);
    for _ in 0..=MAX_REFUSED_PREFIXES {
        talk.prefixes.refuse(&Replayed(Some("other".to_owned())));
    }
    assert_eq!(talk.prefixes.refused.len(), MAX_REFUSED_PREFIXES);
}

#[test]
fn only_new_messages_are_written() {
    let mut talk = three_turns();
    talk.follow(&BINDING);
    talk.messages.push(user("d"));
    let mut written = 0;
    let start = start("model", b"head");
    talk.prefixes.follow(
        start,
        &BINDING,
        &talk.messages,
        |message, replay, buffer| {
            written += 1;
            write(message, replay, buffer);
        },
    );
    assert_eq!(written, 1);
}

#[test]
fn refusals_of_replayed_thinking_are_recognised() {
    for message in [
        "messages.5.content.0: Invalid `signature` in `thinking` block. The block is bound to a \
         different conversation. Remove the block",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be \
         modified.",
    ] {
        assert!(is_about_replayed_thinking(message), "{message}");
    }
    for message in [
        "adaptive thinking is not supported on this model",
        "invalid signature of the request",
    ] {
        assert!(!is_about_replayed_thinking(message), "{message}");
    }
}
