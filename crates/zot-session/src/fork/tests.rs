use std::sync::Arc;

use zot_conversation::{Message, Role, Timestamp};

use super::{ForkError, fork};
use crate::{Durability, SessionLog, SessionMeta, View, read};

#[test]
fn a_fork_begins_before_the_prompt_it_is_made_at() {
    let directory = tempfile::tempdir().unwrap();
    let meta = SessionMeta::new("/work".into(), "p".into(), "m".into());
    let log = SessionLog::announce(directory.path(), meta, Durability::ProcessEnd).unwrap();
    let said = |role, text: &str| {
        Arc::new(Message {
            role,
            ..Message::user_text(text, Timestamp::UNIX_EPOCH)
        })
    };
    for number in 1..=3 {
        log.append_message(&said(Role::User, &format!("q{number}")))
            .unwrap();
        log.append_message(&said(Role::Assistant, &format!("a{number}")))
            .unwrap();
    }
    let parent = read(log.path(), View::Current).unwrap();
    let make = |prompt| {
        fork(
            directory.path(),
            &parent,
            prompt,
            "/elsewhere".into(),
            Durability::ProcessEnd,
        )
    };
    for (prompt, kept) in [(Some(1), 0), (Some(2), 2), (Some(3), 4), (None, 6)] {
        let forked = make(prompt).unwrap();
        assert!(!forked.path().exists());
        forked.keep().unwrap();
        let session = read(forked.path(), View::Current).unwrap();
        assert_eq!(session.messages, parent.messages[..kept]);
        assert_eq!(
            session.meta.parent.as_deref(),
            Some(parent.meta.id.as_str())
        );
        assert_eq!(session.meta.fork_point, Some(kept as u64));
        assert_ne!(session.meta.id, parent.meta.id);
        assert_eq!(session.meta.cwd, "/elsewhere");
    }
    for wanted in [0, 4] {
        assert!(matches!(
            make(Some(wanted)),
            Err(ForkError::NoSuchPrompt { prompts: 3, .. })
        ));
    }
}
