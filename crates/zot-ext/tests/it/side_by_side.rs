//! Handlers do not wait for each other, except where they have to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;
use zot_ext::testing::TestHost;
use zot_ext::{
    Extension, HostFrame, Level, NoArguments, ToolCall, ToolResult, TurnStart, Verdict, json,
};

/// As `MAX_RUNNING_CALLS` and `MAX_CALLS` say.
const RUNNING: usize = 64;
const CALLS: usize = 1024;

/// Blocks tasks until it is opened.
#[derive(Clone)]
struct Gate(Arc<Semaphore>);

impl Gate {
    fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    fn open(&self) {
        self.0.add_permits(10 * CALLS);
    }

    async fn pass(&self) {
        self.0.acquire().await.expect("is never closed").forget();
    }
}

fn call(id: usize) -> HostFrame {
    let line = format!(r#"{{"type":"tool_call","id":"{id}","name":"slow","args":{{}}}}"#);
    HostFrame::parse(line.as_bytes()).expect("is a frame")
}

#[tokio::test]
async fn a_slow_tool_does_not_block_others() {
    let gate = Gate::closed();
    let waiting = gate.clone();
    let extension = Extension::new("slow", "1")
        .tool("slow", "", async move |_: NoArguments| waiting.pass().await)
        .tool("fast", "", async |_: NoArguments| "fast")
        .command("fast", "", async |_| {})
        .intercept_tool_call(async |_, _| Verdict::block("fast"));
    let host = TestHost::start(extension).await.expect("starts");
    let slow = host.call_tool("slow", json!({}));
    let others = async {
        let fast = host.call_tool("fast", json!({})).await.expect("answers");
        assert_eq!(fast, ToolResult::text("fast"));
        host.invoke("fast", "").await.expect("answers");
        let verdict = host.intercept(ToolCall::new("bash", json!({}))).await;
        assert_eq!(verdict.expect("answers"), Verdict::block("fast"));
        gate.open();
    };
    let (slow, ()) = tokio::join!(slow, others);
    assert!(!slow.expect("answers").is_error());
}

#[tokio::test]
async fn blocking_work_does_not_block_others() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    let extension = Extension::new("blocking", "1")
        .tool("blocking", "", async move |_: NoArguments| {
            let released = Arc::clone(&released);
            zot_ext::blocking(move || released.lock().map(|gate| gate.recv().is_ok()).is_ok())
                .await;
        })
        .tool("panics", "", async |_: NoArguments| {
            zot_ext::blocking(|| assert_eq!(1, 2, "on another thread")).await;
        })
        .command("fast", "", async |_| {});
    let host = TestHost::start(extension).await.expect("starts");
    let blocking = host.call_tool("blocking", json!({}));
    let others = async {
        host.invoke("fast", "").await.expect("answers");
        release.send(()).expect("is waited for");
    };
    let (blocking, ()) = tokio::join!(blocking, others);
    assert!(!blocking.expect("answers").is_error());
    let panicked = host.call_tool("panics", json!({})).await.expect("answers");
    assert!(panicked.is_error());
    assert!(
        panicked.to_text().contains("on another thread"),
        "{panicked:?}"
    );
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_and_then_are_refused() {
    let gate = Gate::closed();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waiting, seen) = (gate.clone(), Arc::clone(&most));
    let extension = Extension::new("busy", "1")
        .tool("slow", "", async move |_: NoArguments| {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            seen.fetch_max(now, Ordering::SeqCst);
            waiting.pass().await;
            running.fetch_sub(1, Ordering::SeqCst);
        })
        .intercept_turn_start(async |_, _| Verdict::allow());
    let host = TestHost::start(extension).await.expect("starts");
    for id in 0..CALLS {
        host.send(&call(id)).await;
    }
    let refused = host.call_tool("slow", json!({})).await.expect("answers");
    assert!(refused.is_error());
    assert!(refused.to_text().contains("too many calls"), "{refused:?}");
    // Interceptors have their own limit.
    let verdict = host
        .intercept(TurnStart { step: 1 })
        .await
        .expect("answers");
    assert_eq!(verdict, Verdict::allow());
    assert_eq!(most.load(Ordering::SeqCst), RUNNING);

    gate.open();
    let results = |host: &TestHost| {
        let frames = host.frames();
        let is_result = |frame: &&_| matches!(frame, zot_ext::ExtensionFrame::ToolResult(_));
        frames.iter().filter(is_result).count()
    };
    while results(&host) < CALLS + 1 {
        host.intercept(TurnStart { step: 1 })
            .await
            .expect("answers");
    }
    assert_eq!(most.load(Ordering::SeqCst), RUNNING);
    let after = host.call_tool("slow", json!({})).await.expect("answers");
    assert!(!after.is_error());
}

#[tokio::test]
async fn events_are_handled_one_after_another() {
    let running = AtomicUsize::new(0);
    let extension = Extension::new("ordered", "1").on(async move |event: TurnStart, context| {
        assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
        // Later events would overtake earlier ones here.
        for _ in 0..10 - event.step % 10 {
            tokio::task::yield_now().await;
        }
        running.fetch_sub(1, Ordering::SeqCst);
        context.notify(Level::Info, event.step.to_string());
    });
    let host = TestHost::start(extension).await.expect("starts");
    for step in 0..200 {
        host.emit(TurnStart { step }).await;
    }
    let steps: Vec<_> = host.notified(200).await.expect("notifies");
    let steps: Vec<_> = steps.iter().map(|said| said.message.clone()).collect();
    let expected: Vec<_> = (0..200).map(|step: u32| step.to_string()).collect();
    assert_eq!(steps, expected);
}

#[tokio::test]
async fn a_slow_event_handler_does_not_block_others_and_loses_events() {
    let gate = Gate::closed();
    let waiting = gate.clone();
    let extension = Extension::new("late", "1")
        .on(async move |event: TurnStart, context| {
            waiting.pass().await;
            context.notify(Level::Info, event.step.to_string());
        })
        .tool("fast", "", async |_: NoArguments| {});
    let host = TestHost::start(extension).await.expect("starts");
    for step in 0..3000 {
        host.emit(TurnStart { step }).await;
    }
    host.call_tool("fast", json!({})).await.expect("answers");
    gate.open();
    let first = host.notified(1000).await.expect("notifies");
    assert_eq!(first[0].message, "0");
    assert_eq!(first[999].message, "999");
    host.shutdown().await.expect("ends");
}
