//! How an extension ends. The clock is paused, so timeouts pass at once.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::Instant;
use zot_ext::{Extension, ExtensionFrame, Level, NoArguments, SessionStart, Verdict};

const CALL: &str = r#"{"type":"tool_call","id":"1","name":"hangs","args":{}}"#;
const SHUTDOWN: &str = r#"{"type":"shutdown"}"#;

/// What an extension sent and how long it ran.
struct Life {
    outcome: zot_ext::Result,
    output: Vec<ExtensionFrame>,
    time: Duration,
}

/// Runs an extension on `input`, which ends after it if `ends`.
async fn live(extension: Extension, input: &str, ends: bool) -> Life {
    let (mut to_extension, extension_input) = duplex(64 * 1024);
    let (extension_output, from_extension) = duplex(64 * 1024);
    to_extension
        .write_all(input.as_bytes())
        .await
        .expect("fits");
    let kept = (!ends).then_some(to_extension);
    let started = Instant::now();
    let serving = extension.serve_on(extension_input, extension_output);
    let (outcome, output) = tokio::join!(serving, read_all(from_extension));
    drop(kept);
    Life {
        outcome,
        output,
        time: started.elapsed(),
    }
}

async fn read_all(mut pipe: DuplexStream) -> Vec<ExtensionFrame> {
    let mut output = String::new();
    pipe.read_to_string(&mut output).await.expect("is text");
    let parse = |line: &str| ExtensionFrame::parse(line.as_bytes()).expect("is a frame");
    output.lines().map(parse).collect()
}

/// Records when it is dropped.
struct Dropped(Arc<Mutex<Vec<&'static str>>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0
            .lock()
            .expect("nobody panics with it")
            .push("handler dropped");
    }
}

fn hanging() -> Extension {
    Extension::new("hanging", "1")
        .tool("hangs", "", async |_: NoArguments| pending::<()>().await)
        .command("hangs", "", async |_| pending::<()>().await)
        .on(async |_: SessionStart, _| pending::<()>().await)
        .panel("p", async |_, _| pending::<()>().await)
        .intercept_turn_start(async |_, _| pending::<Verdict>().await)
}

/// One frame for each handler of `hanging`.
fn everything() -> String {
    [
        CALL,
        r#"{"type":"command_invoked","id":"2","name":"hangs"}"#,
        r#"{"type":"event","event":"session_start"}"#,
        r#"{"type":"panel_key","panel_id":"p","key":"x"}"#,
        r#"{"type":"event_intercept","id":"3","event":"turn_start","step":1}"#,
        "",
    ]
    .join("\n")
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_handlers() {
    let life = live(hanging(), &format!("{}{SHUTDOWN}\n", everything()), false).await;
    life.outcome.expect("ends well");
    assert_eq!(life.output.last(), Some(&ExtensionFrame::ShutdownAck));
    assert!(life.time < Duration::from_millis(10), "{:?}", life.time);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_waits_for_them_briefly() {
    let life = live(hanging(), &everything(), true).await;
    life.outcome.expect("ends well");
    // Without `shutdown`, nothing is acknowledged.
    assert_eq!(life.output.last(), Some(&ExtensionFrame::Ready));
    let expected = Duration::from_millis(250)..Duration::from_millis(300);
    assert!(expected.contains(&life.time), "{:?}", life.time);
}

#[tokio::test(start_paused = true)]
async fn requests_before_the_end_of_input_are_answered() {
    let extension = Extension::new("quick", "1").tool("hangs", "", async |_: NoArguments| {
        tokio::time::sleep(Duration::from_millis(100)).await;
        "not for long"
    });
    // Without a line feed at the end.
    let life = live(extension, CALL, true).await;
    life.outcome.expect("ends well");
    assert!(
        matches!(life.output.last(), Some(ExtensionFrame::ToolResult(result)) if !result.is_error)
    );
    assert!(life.time < Duration::from_millis(150), "{:?}", life.time);
}

#[tokio::test(start_paused = true)]
async fn the_shutdown_handler_comes_after_all_others_and_before_the_acknowledgement() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (dropped, called) = (Arc::clone(&seen), Arc::clone(&seen));
    let extension = Extension::new("tidy", "1")
        .tool("hangs", "", async move |_: NoArguments| {
            let _dropped = Dropped(Arc::clone(&dropped));
            pending::<()>().await;
        })
        .on_shutdown(async move |context| {
            tokio::time::sleep(Duration::from_millis(500)).await;
            called
                .lock()
                .expect("nobody panics with it")
                .push("shutdown");
            context.notify(Level::Info, "saved");
        });
    let (mut to_extension, extension_input) = duplex(1024);
    let (extension_output, from_extension) = duplex(1024);
    let talk = async {
        to_extension
            .write_all(format!("{CALL}\n").as_bytes())
            .await
            .expect("fits");
        tokio::time::sleep(Duration::from_millis(10)).await;
        to_extension
            .write_all(SHUTDOWN.as_bytes())
            .await
            .expect("fits");
        to_extension.write_all(b"\n").await.expect("fits");
    };
    let serving = extension.serve_on(extension_input, extension_output);
    let (outcome, output, ()) = tokio::join!(serving, read_all(from_extension), talk);
    outcome.expect("ends well");
    assert_eq!(
        *seen.lock().expect("nobody panics with it"),
        ["handler dropped", "shutdown"]
    );
    let last = &output[output.len() - 2..];
    assert!(matches!(&last[0], ExtensionFrame::Notify { message, .. } if message == "saved"));
    assert_eq!(last[1], ExtensionFrame::ShutdownAck);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_handler_that_hangs_is_abandoned() {
    let extension = Extension::new("slow", "1").on_shutdown(async |_| pending::<()>().await);
    let life = live(extension, &format!("{SHUTDOWN}\n"), false).await;
    life.outcome.expect("ends well");
    assert_eq!(life.output.last(), Some(&ExtensionFrame::ShutdownAck));
    let expected = Duration::from_millis(1500)..Duration::from_millis(1600);
    assert!(expected.contains(&life.time), "{:?}", life.time);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_read_cannot_keep_it_running() {
    let extension = Extension::new("ignored", "1");
    let context = extension.context();
    for _ in 0..100 {
        context.notify(Level::Info, "x".repeat(100));
    }
    let (mut to_extension, extension_input) = duplex(1024);
    let (extension_output, _unread) = duplex(64);
    to_extension
        .write_all(format!("{SHUTDOWN}\n").as_bytes())
        .await
        .expect("fits");
    let started = Instant::now();
    let serving = extension.serve_on(extension_input, extension_output);
    serving.await.expect("ends well");
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_gone_ends_it() {
    let called = Arc::new(Mutex::new(false));
    let seen = Arc::clone(&called);
    let extension = hanging().on_shutdown(async move |_| {
        *seen.lock().expect("nobody panics with it") = true;
    });
    let (_to_extension, extension_input) = duplex(1024);
    let (extension_output, from_extension) = duplex(64);
    drop(from_extension);
    extension
        .serve_on(extension_input, extension_output)
        .await
        .expect("ends well");
    assert!(*called.lock().expect("nobody panics with it"));
}
