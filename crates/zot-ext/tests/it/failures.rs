//! Handlers that fail, and extensions that cannot start.

use tempfile::TempDir;
use zot_ext::testing::{TestError, TestHost};
use zot_ext::{
    AssistantMessage, Error, Extension, HelloAck, HostFrame, Level, Mistake, NoArguments,
    OnFailure, Panel, Response, SessionStart, ToolCall, ToolResult, TurnStart, Verdict, json,
};

fn fail(what: &str) {
    assert!(what.is_empty(), "{what} is broken");
}

#[tokio::test]
async fn a_panic_is_an_error_result() {
    let extension = Extension::new("broken", "1")
        .tool("tool", "", async |_: NoArguments| fail("tool"))
        .command("command", "", async |_| fail("command"))
        .tool("later", "", async |_: NoArguments| {
            tokio::task::yield_now().await;
            fail("later");
        })
        .tool("fine", "", async |_: NoArguments| "fine");
    let host = TestHost::start(extension).await.expect("starts");
    let call = async |name| host.call_tool(name, json!({})).await.expect("answers");
    assert_eq!(
        call("tool").await,
        ToolResult::error("tool tool panicked: tool is broken")
    );
    assert_eq!(
        call("later").await,
        ToolResult::error("tool later panicked: later is broken")
    );
    assert_eq!(
        host.invoke("command", "").await.expect("answers"),
        Response::error("command command panicked: command is broken")
    );
    assert_eq!(call("fine").await, ToolResult::text("fine"));
    host.shutdown().await.expect("ends");
}

#[tokio::test]
async fn handlers_without_a_response_are_called_again_after_a_panic() {
    let extension = Extension::new("broken", "1")
        .on(async |_: SessionStart, _| fail("first"))
        .on(async |_: SessionStart, _| Err("second"))
        .on(async |_: SessionStart, context| context.notify(Level::Info, "third"))
        .panel("p", async |input, context| {
            context.render_panel(&Panel::new("p"));
            fail(&format!("{input:?}"));
        })
        .on_shutdown(async |_| fail("shutdown"));
    let host = TestHost::start(extension).await.expect("starts");
    for count in 1..3 {
        host.emit(SessionStart).await;
        host.notified(count).await.expect("goes on");
        host.panel_key("p", "x", "").await;
        host.panel_drawn("p", count).await.expect("goes on");
    }
    host.shutdown().await.expect("ends");
}

fn broken_guard() -> Extension {
    Extension::new("guard", "1")
        .intercept_tool_call(async |call, _| match call.name.as_str() {
            "panics" => {
                fail("guard");
                Ok(Verdict::allow())
            }
            "fails" => Err("no rules"),
            _ => Ok(Verdict::block("on purpose")),
        })
        .intercept_turn_start(async |_, _| Err::<Verdict, _>("no budget"))
        .intercept_assistant_message(async |_, _| Err::<Verdict, _>("no filter"))
}

/// Checks the verdicts of a broken guard, and what the user is notified of.
async fn check_broken_guard(host: TestHost, blocks: bool) {
    let expected = |problem: &str| match blocks {
        true => Verdict::block(format!("the interceptor of {problem}")),
        false => Verdict::allow(),
    };
    let call = async |name| {
        let call = ToolCall::new(name, json!({}));
        host.intercept(call).await.expect("answers")
    };
    let problems = [
        "tool_call panicked: guard is broken",
        "tool_call failed: no rules",
        "turn_start failed: no budget",
        "assistant_message failed: no filter",
    ];
    assert_eq!(call("panics").await, expected(problems[0]));
    assert_eq!(call("fails").await, expected(problems[1]));
    assert_eq!(call("other").await, Verdict::block("on purpose"));
    let turn = host.intercept(TurnStart { step: 1 }).await;
    assert_eq!(turn.expect("answers"), expected(problems[2]));
    let text = "hi".to_owned();
    let message = host.intercept(AssistantMessage { text }).await;
    assert_eq!(message.expect("answers"), expected(problems[3]));
    host.notified(problems.len()).await.expect("tells the user");
    let consequence = if blocks { "blocked" } else { "allowed" };
    for (told, problem) in host.notifications().iter().zip(problems) {
        assert_eq!(told.level, "error");
        let message = format!("the interceptor of {problem} ({consequence})");
        assert_eq!(told.message, message);
    }
}

/// A host that has `manifest` in the extension's directory.
async fn start_beside(extension: Extension, manifest: &str) -> (TempDir, TestHost) {
    let directory = TempDir::new().expect("a directory");
    std::fs::write(directory.path().join("extension.json"), manifest).expect("written");
    let host = HelloAck {
        extension_dir: directory.path().display().to_string(),
        ..HelloAck::default()
    };
    // The manifest is read before the first request, but maybe only after `ready`, so the directory
    // has to outlive this function.
    let host = TestHost::start_as(extension, host).await;
    (directory, host.expect("starts"))
}

#[tokio::test]
async fn a_broken_guard_allows_and_tells_the_user() {
    let host = TestHost::start(broken_guard()).await.expect("starts");
    check_broken_guard(host, false).await;
}

#[tokio::test]
async fn a_broken_guard_follows_its_manifest() {
    let block = r#"{"name":"guard","on_failure":"block"}"#;
    let (_directory, host) = start_beside(broken_guard(), block).await;
    check_broken_guard(host, true).await;
    for manifest in [r#"{"name":"guard"}"#, r#"{"on_failure":"explode"}"#, "{"] {
        let (_directory, host) = start_beside(broken_guard(), manifest).await;
        check_broken_guard(host, false).await;
    }
}

#[tokio::test]
async fn the_policy_in_the_program_overrides_the_manifest() {
    let guard = broken_guard().on_interceptor_failure(OnFailure::Block);
    let host = TestHost::start(guard).await.expect("starts");
    check_broken_guard(host, true).await;
    let guard = broken_guard().on_interceptor_failure(OnFailure::Allow);
    let (_directory, host) = start_beside(guard, r#"{"on_failure":"block"}"#).await;
    check_broken_guard(host, false).await;
}

#[tokio::test]
async fn arguments_that_cannot_be_read_are_a_failure() {
    let extension = Extension::new("guard", "1")
        .intercept_tool_call(async |_, _| Verdict::allow())
        .on_interceptor_failure(OnFailure::Block);
    let host = TestHost::start(extension).await.expect("starts");
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let line = format!(
        r#"{{"type":"event_intercept","id":"deep","event":"tool_call","tool_name":"bash","tool_args":{{"a":{deep}}}}}"#
    );
    let frame = HostFrame::parse(line.as_bytes()).expect("is a frame");
    host.send(&frame).await;
    let blocked = |frame: &zot_ext::ExtensionFrame| {
        let frame = serde_json::to_value(frame).unwrap_or_default();
        frame["id"] == "deep" && frame["block"] == true
    };
    host.wait_for("the verdict", blocked).await.expect("blocks");
}

async fn mistake(extension: Extension) -> Mistake {
    match TestHost::start(extension).await.map(|_| ()) {
        Err(TestError::Failed(Error::Mistake(mistake))) => mistake,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn mistakes_are_reported_at_the_start() {
    let twice = |kind: &'static str, name: &str| Mistake::Twice {
        kind,
        name: name.to_owned(),
    };
    let new = || Extension::new("wrong", "1");
    let commands = new()
        .command("a", "", async |_| {})
        .command("a", "", async |_| {});
    assert_eq!(mistake(commands).await, twice("command", "a"));
    let tools =
        new()
            .tool("a", "", async |_: NoArguments| {})
            .tool("a", "", async |_: NoArguments| {});
    assert_eq!(mistake(tools).await, twice("tool", "a"));
    let panels = new()
        .panel("a", async |_, _| {})
        .panel("a", async |_, _| {});
    assert_eq!(mistake(panels).await, twice("panel", "a"));
    let interceptors = new()
        .intercept_turn_start(async |_, _| Verdict::allow())
        .intercept_turn_start(async |_, _| Verdict::allow());
    assert_eq!(
        mistake(interceptors).await,
        twice("interceptor", "turn_start")
    );
    let text = new().tool("a", "", async |text: String| text);
    let tool = "a".to_owned();
    assert_eq!(mistake(text).await, Mistake::ArgumentsNotAnObject { tool });
    assert_eq!(
        mistake(new().hold_text()).await,
        Mistake::NothingToHoldTextFor
    );
}

#[test]
fn errors_print_with_their_causes() {
    let error = Error::Read(std::io::Error::other("the disk is gone"));
    assert_eq!(
        format!("{error:?}"),
        "cannot read from zot: the disk is gone"
    );
    let error = Error::from(Mistake::NothingToHoldTextFor);
    assert_eq!(format!("{error:?}"), error.to_string());
}
