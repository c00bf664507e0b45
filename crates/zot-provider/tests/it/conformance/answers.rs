//! Whole responses: text, thinking, calls, counts, and why they end.

use super::*;

#[tokio::test]
async fn text() {
    for subject in subjects() {
        let events = subject.ask("utf8").await.complete();
        let deltas: Vec<&ModelEvent> = events
            .iter()
            .filter(|event| matches!(event, ModelEvent::TextDelta(_)))
            .collect();
        assert_eq!(deltas.len(), 6, "{:?}", subject.wire);
        assert_eq!(text_of(&events), "héé 日本 <b>&\u{2028}x🎉!\"q\"\\\n");
        assert_eq!(stop_of(&events), Some(StopReason::End));
    }
}

#[tokio::test]
async fn nothing_said() {
    for subject in subjects() {
        let events = subject.ask("empty").await.complete();
        assert_eq!(text_of(&events), "");
        assert_eq!(stop_of(&events), Some(StopReason::End));
    }
}

#[tokio::test]
async fn a_response_cut_at_the_output_limit() {
    for subject in subjects() {
        let events = subject.ask("length").await.complete();
        assert_eq!(text_of(&events), "cut off");
        assert_eq!(stop_of(&events), Some(StopReason::Length));
    }
}

/// The call is reported as far as it arrived, and the stop reason is the limit, so that it is not
/// run.
#[tokio::test]
async fn a_call_cut_at_the_output_limit() {
    for subject in subjects() {
        // Calls come whole on this wire.
        if subject.wire == testkit::Wire::Gemini {
            continue;
        }
        let events = subject.ask(r#"cutcall:read:{"path":"a.t"#).await.complete();
        assert_eq!(
            stop_of(&events),
            Some(StopReason::Length),
            "{:?}",
            subject.wire
        );
        let calls = calls_of(&assembled(&events));
        let malformed = calls[0].arguments.json().unwrap_err();
        assert_eq!(malformed.text, r#"{"path":"a.t"#);
    }
}

#[tokio::test]
async fn thinking_is_kept_and_replayed() {
    for subject in subjects() {
        let wire = subject.wire;
        for directive in [
            "think:let me see:say:2",
            r#"think:let me see:tool:read:{"path":"a"}"#,
            r#"think:let me see:multi:[{"name":"read"},{"name":"bash"}]"#,
        ] {
            let events = subject.ask(directive).await.complete();
            assert_eq!(thinking_of(&events), "let me see", "{wire:?}");
            let answer = assembled(&events);
            let provider = wire.provider();
            let own = answer.content.iter().filter(|block| {
                matches!(block, ContentBlock::Reasoning(block) if block.provider == provider)
            });
            assert!(own.count() > 0, "{wire:?} {directive}");

            let mut messages = vec![user(directive), answer];
            let calls = calls_of(&messages[1]);
            if calls.is_empty() {
                messages.push(user("say:1"));
            } else {
                messages.push(results(&calls, "done"));
            }
            subject.send(&messages).await.complete();
            let replayed = subject.last_request().messages()[1..].to_vec();
            let replayed = serde_json::to_string(&replayed).unwrap();
            assert!(replayed.contains("let me see"), "{wire:?} {replayed}");

            // Nobody else is shown it.
            let other = client(wire, subject.ours, "other", &subject.server);
            collect(other.stream(subject.request(&messages)))
                .await
                .complete();
            let last = subject.last_request();
            let directive_left = serde_json::to_string(&last.body).unwrap();
            let shown = directive_left.matches("let me see").count();
            assert_eq!(shown, 1, "{wire:?} {directive_left}");
        }
    }
}

#[tokio::test]
async fn one_call() {
    for subject in subjects() {
        let directive = r#"texttool:read:{"path":"a.txt","deep":{"n":[1,2.5,null]}}"#;
        let events = subject.ask(directive).await.complete();
        assert_eq!(stop_of(&events), Some(StopReason::ToolUse));
        assert_eq!(text_of(&events), "let me look. ");
        let answer = assembled(&events);
        let calls = calls_of(&answer);
        let [call] = calls.as_slice() else {
            panic!("{:?}: {calls:?}", subject.wire);
        };
        assert_eq!(call.name, "read");
        let arguments: serde_json::Value =
            serde_json::from_str(call.arguments.json().unwrap().get()).unwrap();
        let expected = serde_json::json!({"path": "a.txt", "deep": {"n": [1, 2.5, null]}});
        assert_eq!(arguments, expected);

        let messages = [user(directive), answer.clone(), results(&calls, "RESULT")];
        let events = subject.send(&messages).await.complete();
        assert_eq!(text_of(&events), "all done", "{:?}", subject.wire);
        let sent = serde_json::to_string(&subject.last_request().body).unwrap();
        assert!(sent.contains("RESULT") && sent.contains("let me look. "));
    }
}

#[tokio::test]
async fn a_call_without_arguments() {
    for subject in subjects() {
        let events = subject.ask("noargs:bash").await.complete();
        let calls = calls_of(&assembled(&events));
        assert_eq!(calls[0].arguments.json().unwrap().get(), "{}");
    }
}

#[tokio::test]
async fn parallel_calls() {
    for subject in subjects() {
        let directive = r#"multi:[{"name":"read","args":{"path":"a"}},{"name":"bash","args":{"command":"ls -l | head"}},{"name":"read","args":{"path":"a"}}]"#;
        let events = subject.ask(directive).await.complete();
        assert_eq!(stop_of(&events), Some(StopReason::ToolUse));
        let answer = assembled(&events);
        let calls = calls_of(&answer);
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["read", "bash", "read"], "{:?}", subject.wire);
        let mut ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3, "{:?}", subject.wire);
        assert_eq!(
            calls[1].arguments.json().unwrap().get(),
            r#"{"command":"ls -l | head"}"#
        );
        for call in &calls {
            let ends = events
                .iter()
                .filter(|event| matches!(event, ModelEvent::ToolCallEnd { id } if *id == call.id));
            assert_eq!(ends.count(), 1);
        }
        let messages = [user(directive), answer.clone(), results(&calls, "ok")];
        let events = subject.send(&messages).await.complete();
        assert_eq!(text_of(&events), "all done");
    }
}

#[tokio::test]
async fn usage() {
    for subject in subjects() {
        let events = subject.ask("say:7").await.complete();
        let usage = events.iter().rev().find_map(|event| match event {
            ModelEvent::Usage(usage) => Some(*usage),
            _ => None,
        });
        let usage = usage.unwrap();
        let prompt = 100 * subject.last_request().messages().len() as u64;
        assert_eq!(usage.input, prompt - 20, "{:?}", subject.wire);
        assert_eq!((usage.cache_read, usage.output), (20, 7));
    }
}

#[tokio::test]
async fn how_bytes_travel_changes_nothing() {
    for subject in subjects() {
        for directive in [
            "say:3",
            "utf8",
            "think:hm:say:1",
            r#"think:hm:multi:[{"name":"read","args":{"path":"a"}},{"name":"bash"}]"#,
        ] {
            let plain = subject.ask(directive).await.complete();
            for wrapper in ["split:1:", "split:7:", "crlf:", "split:3:crlf:"] {
                let wrapped = subject.ask(&format!("{wrapper}{directive}")).await;
                assert_eq!(
                    without_ids(&wrapped.complete()),
                    without_ids(&plain),
                    "{:?} {wrapper}{directive}",
                    subject.wire
                );
            }
        }
    }
}
