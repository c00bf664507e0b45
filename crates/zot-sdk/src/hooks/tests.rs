use std::sync::Mutex;

use zot_conversation::Arguments;

use super::*;

/// Appends its mark to every 1, or blocks text that contains `refuses`.
struct Marker {
    mark: &'static str,
    refuses: Option<&'static str>,
    seen: Mutex<Vec<String>>,
}

impl Marker {
    fn new(mark: &'static str, refuses: Option<&'static str>) -> Arc<Self> {
        Arc::new(Self {
            mark,
            refuses,
            seen: Mutex::default(),
        })
    }

    fn judge(&self, text: &str) -> Option<String> {
        self.seen.lock().unwrap().push(text.to_owned());
        let refused = self.refuses.is_some_and(|word| text.contains(word));
        (!refused).then(|| text.replace('1', &format!("1{}", self.mark)))
    }
}

impl Hooks for Marker {
    fn before_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        let written = call.arguments.json().unwrap().get();
        let verdict = match self.judge(written) {
            Some(_) if self.mark.is_empty() => ToolVerdict::Proceed,
            Some(text) => ToolVerdict::Rewrite(Arguments::from_model_text(&text)),
            None => ToolVerdict::Block {
                reason: "refused".to_owned(),
            },
        };
        Box::pin(std::future::ready(verdict))
    }

    fn before_assistant_message<'a>(&'a self, text: &'a str) -> BoxFuture<'a, MessageVerdict> {
        let verdict = match self.judge(text) {
            Some(_) if self.mark.is_empty() => MessageVerdict::Keep,
            Some(text) => MessageVerdict::Replace(text),
            None => MessageVerdict::Suppress,
        };
        Box::pin(std::future::ready(verdict))
    }
}

fn chained(first: &Arc<Marker>, last: &Arc<Marker>) -> ChainedHooks {
    ChainedHooks {
        first: first.clone(),
        last: last.clone(),
    }
}

fn call() -> ToolCall {
    ToolCall {
        id: "c1".into(),
        name: "bash".to_owned(),
        arguments: Arguments::from_model_text(r#"{"n":1}"#),
    }
}

#[tokio::test]
async fn the_last_hook_sees_the_rewrite_of_the_first() {
    let (first, last) = (Marker::new("2", None), Marker::new("", Some("2")));
    let verdict = chained(&first, &last).before_tool(&call()).await;
    assert!(matches!(verdict, ToolVerdict::Block { .. }), "{verdict:?}");
    let verdict = chained(&first, &last).before_assistant_message("1").await;
    assert_eq!(verdict, MessageVerdict::Suppress);
}

#[tokio::test]
async fn a_rewrite_survives_if_the_last_hook_agrees() {
    let (first, last) = (Marker::new("2", None), Marker::new("", None));
    let verdict = chained(&first, &last).before_tool(&call()).await;
    assert_eq!(
        verdict,
        ToolVerdict::Rewrite(Arguments::from_model_text(r#"{"n":12}"#))
    );
    let verdict = chained(&first, &last).before_assistant_message("1").await;
    assert_eq!(verdict, MessageVerdict::Replace("12".to_owned()));
}

#[tokio::test]
async fn a_call_blocked_by_the_first_hook_never_reaches_the_last() {
    let (first, last) = (Marker::new("", Some("1")), Marker::new("", None));
    let verdict = chained(&first, &last).before_tool(&call()).await;
    assert!(matches!(verdict, ToolVerdict::Block { .. }), "{verdict:?}");
    assert!(last.seen.lock().unwrap().is_empty());
}
