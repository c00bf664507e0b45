//! Tools, prompts and resources, and their changes.

use std::collections::BTreeMap;

use serde_json::json;
use zot_conversation::{ContentBlock, Role};
use zot_mcp::ServerState;
use zot_mcp::entry::Exposure;

use crate::support::{Scene, eventually, set_env, settle, status, text_of};

#[tokio::test]
async fn prompts_and_resources_are_listed_and_read() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        let prompts = set.prompts();
        assert_eq!(prompts[0].server, "scripted");
        assert_eq!(prompts[0].name, "greet");
        assert!(prompts[0].arguments[0].required);
        let arguments = BTreeMap::from([("who".to_owned(), "Ada".to_owned())]);
        let messages = set.prompt("scripted", "greet", &arguments).await.unwrap();
        assert_eq!(messages[0].role, Role::User);
        assert_eq!(
            messages[0].content,
            [ContentBlock::Text("Hello Ada".to_owned())]
        );
        assert_eq!(messages[1].role, Role::Assistant);
        eventually(|| {
            scene
                .log()
                .contains(r#"info prompts: {"asked": "greet"}"#)
                .then_some(())
        })
        .await;
        assert_eq!(set.resources()[0].uri, "memo://1");
        assert_eq!(set.resources()[0].size, Some(5));
        assert_eq!(set.resource_templates()[0].uri_template, "memo://{id}");
        let content = set.read("scripted", "memo://1").await.unwrap();
        assert_eq!(content[0], ContentBlock::Text("memo".to_owned()));
        assert!(matches!(content[1], ContentBlock::Image(_)));
        let error = set.read("scripted", "memo://9").await.unwrap_err();
        assert!(error.to_string().contains("Resource not found"));
        let error = set.read("nobody", "memo://1").await.unwrap_err();
        assert!(error.to_string().contains("unknown MCP server \"nobody\""));
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn a_changed_list_is_fetched_again() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        if era == "modern" {
            let listen = scene
                .received(|line| line["method"] == "subscriptions/listen")
                .await;
            assert_eq!(
                listen["params"]["notifications"],
                json!({"toolsListChanged": true, "promptsListChanged": true,
                    "resourcesListChanged": true})
            );
        }
        let before = set.generation();
        text_of(&set, "change", json!({"name": "fresh"})).await;
        let after = set.changed(before).await;
        assert!(after > before);
        let tools = set.tools();
        assert_eq!(tools.last().unwrap().tool(), "fresh");
        assert_eq!(tools.len(), 20);
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn a_stale_list_is_fetched_again_when_it_is_used() {
    let scene = Scene::new();
    let mut entry = scene.scripted("modern");
    set_env(&mut entry, "TTL", "0");
    let set = scene.ready(entry).await;
    let lists = || {
        let trace = scene.trace();
        let lists = trace.iter().filter(|line| line["method"] == "tools/list");
        lists.count()
    };
    assert_eq!(lists(), 2);
    eventually(|| {
        set.tools();
        (lists() == 4).then_some(())
    })
    .await;
    // Not with every use: the server decides when it is stale, not how often we ask.
    for _ in 0..100 {
        set.tools();
        tokio::task::yield_now().await;
    }
    text_of(&set, "echo", json!({"text": "x"})).await;
    assert_eq!(lists(), 4);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_stream_of_changes_that_ends_is_not_opened_at_once() {
    let scene = Scene::new();
    let mut entry = scene.scripted("modern");
    set_env(&mut entry, "CUT", "1");
    let set = scene.ready(entry).await;
    let opened = || {
        let trace = scene.trace();
        let opened = trace
            .iter()
            .filter(|line| line["method"] == "subscriptions/listen");
        opened.count()
    };
    eventually(|| (opened() >= 2).then_some(())).await;
    text_of(&set, "echo", json!({"text": "x"})).await;
    assert!(opened() < 4);
    assert_eq!(status(&set).state, ServerState::Ready);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn tools_are_named_after_their_server_and_exposed_as_the_entry_says() {
    let scene = Scene::new();
    let mut first = scene.scripted("legacy");
    first.name = "my server".to_owned();
    first.exposure = Some(Exposure::Deferred);
    first.tool_exposure = vec![
        ("ask*".to_owned(), Some(Exposure::Hidden)),
        ("echo".to_owned(), Some(Exposure::Direct)),
    ];
    let mut second = scene.scripted("legacy");
    second.name = "my.server".to_owned();
    let set = scene.open(vec![first, second]);
    settle(&set).await;
    let tools = set.tools();
    assert_eq!(tools.len(), 38);
    let names: std::collections::BTreeSet<String> = tools
        .iter()
        .map(|tool| zot_conversation::Tool::definition(&**tool).name.clone())
        .collect();
    assert_eq!(names.len(), 38);
    let exposure = |name: &str| {
        let found = tools.iter().find(|tool| tool.tool() == name).unwrap();
        found.exposure()
    };
    assert_eq!(exposure("echo"), Some(Exposure::Direct));
    assert_eq!(exposure("ask_url"), Some(Exposure::Hidden));
    assert_eq!(exposure("add"), Some(Exposure::Deferred));
    assert_eq!(tools[19].server(), "my.server");
    assert_eq!(tools[19].exposure(), None);
    scene.pool.shut_down().await;
}
