//! Both eras, call by call.

use serde_json::{Value, json};
use zot_conversation::{ContentBlock, Tool as _, ToolEffect};

use crate::support::{Person, Scene, error_of, eventually, set_env, status, text_of, tool};

#[tokio::test]
async fn a_legacy_server_is_greeted_with_a_handshake() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let status = status(&set);
    assert_eq!(status.version.as_deref(), Some("2025-11-25"));
    assert_eq!(status.product.as_deref(), Some("scripted 1"));
    assert_eq!(status.instructions.as_deref(), Some("Use it well."));
    assert_eq!((status.tools, status.prompts, status.resources), (19, 1, 1));
    let trace = scene.trace();
    assert_eq!(trace[0]["method"], "initialize");
    assert_eq!(trace[0]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(
        trace[0]["params"]["clientInfo"],
        json!({"name": "zot", "title": "zot", "version": "1.2.3"})
    );
    assert_eq!(
        trace[0]["params"]["capabilities"],
        json!({"roots": {}, "elicitation": {"form": {}, "url": {}}})
    );
    assert_eq!(trace[1]["method"], "notifications/initialized");
    assert!(scene.log().contains("a stray line, as careless servers"));
    assert!(scene.log().contains("starting"));
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_modern_server_says_so_and_is_remembered() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("modern")).await;
    assert_eq!(status(&set).version.as_deref(), Some("2026-07-28"));
    assert_eq!(status(&set).product.as_deref(), Some("Scripted 2"));
    let methods = |trace: &[Value]| -> Vec<Value> {
        trace.iter().map(|line| line["method"].clone()).collect()
    };
    assert_eq!(
        methods(&scene.trace())[..2],
        [json!("initialize"), json!("server/discover")]
    );
    for line in &scene.trace()[1..] {
        let meta = &line["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert_eq!(
            meta["io.modelcontextprotocol/clientCapabilities"],
            json!({"roots": {}, "elicitation": {"form": {}, "url": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}}})
        );
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "zot");
    }
    scene.pool.shut_down().await;
    std::fs::remove_file(scene.path("trace")).unwrap();
    let again = crate::support::pool(scene.home.path());
    let set = again.open(vec![scene.scripted("modern")], scene.home.path());
    crate::support::settle(&set).await;
    assert_eq!(methods(&scene.trace())[0], json!("server/discover"));
    again.shut_down().await;
}

#[tokio::test]
async fn a_remembered_era_that_is_not_true_any_more_is_corrected() {
    let scene = Scene::new();
    // Values of variables do not tell servers apart, so these are one server before and after an update.
    for (mode, version) in [
        ("modern", "2026-07-28"),
        ("legacy", "2025-11-25"),
        ("modern", "2026-07-28"),
    ] {
        let mut entry = scene.scripted("from the variable");
        set_env(&mut entry, "MODE", mode);
        let pool = crate::support::pool(scene.home.path());
        let set = pool.open(vec![entry], scene.home.path());
        crate::support::settle(&set).await;
        assert_eq!(status(&set).version.as_deref(), Some(version));
        pool.shut_down().await;
    }
    let first: Vec<Value> = scene
        .trace()
        .into_iter()
        .map(|line| line["method"].clone())
        .filter(|method| method == "initialize" || method == "server/discover")
        .collect();
    assert_eq!(
        first,
        [
            "initialize",
            "server/discover",
            "server/discover",
            "initialize",
            "initialize",
            "server/discover"
        ]
    );
}

#[tokio::test]
async fn any_refusal_of_the_handshake_leads_to_the_modern_era() {
    let scene = Scene::new();
    let mut entry = scene.scripted("modern");
    set_env(&mut entry, "REFUSAL", "-32601");
    let set = scene.ready(entry).await;
    assert_eq!(status(&set).version.as_deref(), Some("2026-07-28"));
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_server_of_both_eras_keeps_to_the_first_request() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("dual")).await;
    assert_eq!(status(&set).version.as_deref(), Some("2025-11-25"));
    assert_eq!(text_of(&set, "echo", json!({"text": "a"})).await, "a");
    let mut forced = scene.scripted("dual");
    forced.protocol = Some("2026-07-28".to_owned());
    let set = scene.ready(forced).await;
    assert_eq!(status(&set).version.as_deref(), Some("2026-07-28"));
    assert_eq!(text_of(&set, "echo", json!({"text": "b"})).await, "b");
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn older_revisions_are_spoken_and_unknown_ones_are_not() {
    let scene = Scene::new();
    let mut entry = scene.scripted("legacy");
    set_env(&mut entry, "VERSION", "2024-11-05");
    let set = scene.ready(entry.clone()).await;
    assert_eq!(status(&set).version.as_deref(), Some("2024-11-05"));
    set_env(&mut entry, "VERSION", "1999-01-01");
    let set = scene.open(vec![entry]);
    crate::support::settle(&set).await;
    let state = status(&set).state;
    assert!(state.reason().unwrap().contains("1999-01-01"), "{state:?}");
    let mut unknown = scene.scripted("legacy");
    unknown.protocol = Some("soon".to_owned());
    let set = scene.open(vec![unknown]);
    crate::support::settle(&set).await;
    assert!(status(&set).state.reason().unwrap().contains("\"soon\""));
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn results_of_every_kind_reach_the_model() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        assert_eq!(
            text_of(&set, "add", json!({"a": 2, "b": 3})).await,
            r#"{"sum": 5}"#
        );
        let parts = Person::default()
            .call(&tool(&set, "parts"), json!({}))
            .await;
        let texts: Vec<String> = parts
            .content
            .iter()
            .map(|block| match block {
                ContentBlock::Text(text) => text.clone(),
                ContentBlock::Image(image) => format!("image {}", image.mime_type),
                _ => panic!("{block:?}"),
            })
            .collect();
        let results = scene.pool.results_directory().display().to_string();
        assert_eq!(texts[..2], ["first", "image image/png"]);
        assert!(texts[2].starts_with(&format!("[audio audio/wav, 8 bytes: in {results}/")));
        assert_eq!(texts[3], "[resource a: file:///a.txt (text/plain)]");
        assert_eq!(texts[4], "embedded");
        assert!(texts[5].starts_with("[memo://2 application/zip, 3 bytes: in "));
        assert_eq!(
            texts[6],
            "[a part of kind \"hologram\", which zot cannot show]"
        );
        assert_eq!(texts[7], r#"{"more": [1, 2]}"#);
        assert_eq!(texts.len(), 8);
        assert_eq!(error_of(&set, "fail").await, "it went wrong");
        assert_eq!(
            error_of(&set, "refuse").await,
            "the MCP server \"scripted\": no such thing (-32602)"
        );
        assert!(
            error_of(&set, "null")
                .await
                .contains("expected a result object")
        );
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn an_unknown_kind_of_result_is_an_error() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("modern")).await;
    assert_eq!(
        error_of(&set, "unknown_kind").await,
        "the MCP server \"scripted\": unknown result type \"surprise\""
    );
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_long_result_goes_to_a_file() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let text = text_of(&set, "long", json!({})).await;
    assert!(text.len() < 25_000, "{}", text.len());
    assert!(text.starts_with("line 0\nline 1\n"));
    assert!(text.ends_with("line 19999"));
    let (_, rest) = text.split_once("bytes: in ").unwrap();
    let (path, _) = rest.split_once(']').unwrap();
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(kept.lines().count(), 20_000);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn progress_is_reported() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        let person = Person::default();
        let output = person.call(&tool(&set, "slow"), json!({})).await;
        assert_eq!(output.joined_text(), "done");
        assert_eq!(
            *person.reports.lock().unwrap(),
            ["1/3 step 1\n", "2/3 step 2\n", "3/3 step 3\n"]
        );
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn progress_extends_the_time_of_a_call() {
    let scene = Scene::new();
    let mut entry = scene.scripted("legacy");
    entry.timeout = Some(std::time::Duration::from_millis(1_500));
    let set = scene.ready(entry).await;
    // Three pauses of a second are longer than the timeout.
    assert_eq!(text_of(&set, "slow", json!({"pause": 1.0})).await, "done");
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_the_server_is_told() {
    let scene = Scene::new();
    let mut entry = scene.scripted("legacy");
    entry.timeout = Some(std::time::Duration::from_millis(200));
    let set = scene.ready(entry).await;
    assert_eq!(
        error_of(&set, "hang").await,
        "the MCP server \"scripted\" did not answer within 200ms"
    );
    let call = scene
        .received(|line| line["params"]["name"] == "hang")
        .await;
    let told = scene
        .received(|line| line["method"] == "notifications/cancelled")
        .await;
    assert_eq!(told["params"]["requestId"], call["id"]);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn an_aborted_call_is_cancelled_and_the_server_goes_on() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        let person = Person::default();
        let hanging = tool(&set, "hang");
        let call = person.call(&hanging, json!({}));
        let abort = async {
            scene
                .received(|line| line["params"]["name"] == "hang")
                .await;
            person.cancel.cancel();
        };
        let (output, ()) = tokio::join!(call, abort);
        assert_eq!(output.joined_text(), "aborted");
        scene
            .received(|line| line["method"] == "notifications/cancelled")
            .await;
        assert_eq!(text_of(&set, "echo", json!({"text": "on"})).await, "on");
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn a_dropped_call_is_cancelled() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let person = Person::default();
    let hanging = tool(&set, "hang");
    tokio::select! {
        output = person.call(&hanging, json!({})) => panic!("{output:?}"),
        _ = scene.received(|line| line["params"]["name"] == "hang") => {}
    }
    scene
        .received(|line| line["method"] == "notifications/cancelled")
        .await;
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn tasks_are_polled_to_their_end() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        let person = Person::default();
        let output = person
            .call(&tool(&set, "task"), json!({"mode": "plain"}))
            .await;
        let (expected, reports): (&str, &[&str]) = match era {
            "legacy" => ("legacy task result", &[]),
            _ => ("task result", &["warming up\n", "half way\n"]),
        };
        assert_eq!(output.joined_text(), expected);
        assert_eq!(*person.reports.lock().unwrap(), reports);
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn a_task_can_fail_ask_and_be_cancelled() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("modern")).await;
    let failed = Person::default()
        .call(&tool(&set, "task"), json!({"mode": "fail"}))
        .await;
    assert!(failed.joined_text().contains("the task broke"));
    let person = Person::answering([crate::support::accept(json!({"name": "Ada"}))]);
    let asked = person
        .call(&tool(&set, "task"), json!({"mode": "ask"}))
        .await;
    assert_eq!(asked.joined_text(), "task result");
    let update = scene
        .received(|line| line["method"] == "tasks/update")
        .await;
    assert_eq!(
        update["params"]["inputResponses"]["who"],
        json!({"action": "accept", "content": {"name": "Ada"}})
    );
    let person = Person::default();
    let endless = tool(&set, "task");
    let call = person.call(&endless, json!({"mode": "forever"}));
    let abort = async {
        eventually(|| {
            let polls = scene.trace();
            let polls = polls.iter().filter(|line| line["method"] == "tasks/get");
            (polls.count() > 8).then_some(())
        })
        .await;
        person.cancel.cancel();
    };
    let (output, ()) = tokio::join!(call, abort);
    assert_eq!(output.joined_text(), "aborted");
    let told = scene
        .received(|line| line["method"] == "tasks/cancel")
        .await;
    assert_eq!(told["params"]["taskId"], "t1");
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn arguments_with_line_ends_stay_one_message() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let tool = tool(&set, "echo");
    let arguments = serde_json::value::RawValue::from_string(
        "{\n  \"text\":\r\n \"two\\nlines\"\n}".to_owned(),
    )
    .unwrap();
    let person = Person::default();
    let output = tool
        .run(zot_conversation::ToolInvocation {
            id: &zot_conversation::ToolCallId::from("call"),
            arguments: &arguments,
            progress: &person,
            questions: &person,
            cancel: &person.cancel,
        })
        .await;
    assert_eq!(output.joined_text(), "two\nlines");
    assert_eq!(tool.definition().name, "scripted__echo");
    assert_eq!(tool.definition().effect, ToolEffect::ReadOnly);
    assert_eq!(tool.title(), Some("Echo"));
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn an_error_that_names_no_request_ends_the_only_call() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let refuse = tool(&set, "refuse");
    let output = Person::default()
        .call(&refuse, json!({"nameless": true}))
        .await;
    assert!(output.is_error);
    assert!(output.joined_text().contains("-32600"));
    scene.pool.shut_down().await;
}
