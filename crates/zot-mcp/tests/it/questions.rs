//! Questions of servers, in the way of each era.

use serde_json::{Value, json};
use zot_conversation::{Answer, QuestionKind};

use crate::support::{Person, Scene, accept, text_of, tool};

#[tokio::test]
async fn a_form_is_asked_and_its_answer_reaches_the_server() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        for (answer, expected) in [
            (
                accept(json!({"name": "Ada"})),
                json!({"action": "accept", "content": {"name": "Ada"}}),
            ),
            (Answer::Decline, json!({"action": "decline"})),
            (Answer::Cancel, json!({"action": "cancel"})),
        ] {
            let person = Person::answering([answer]);
            let output = person.call(&tool(&set, "ask"), json!({})).await;
            let received: Value = serde_json::from_str(&output.joined_text()).unwrap();
            match era {
                "legacy" => assert_eq!(received, expected),
                // With the state, to the letter.
                _ => assert_eq!(received, json!([{"who": expected}, "state ä"])),
            }
            let asked = person.questions.lock().unwrap();
            assert_eq!(asked.len(), 1);
            assert_eq!(asked[0].origin, "scripted");
            assert_eq!(asked[0].message, "Who are you?");
            let QuestionKind::Form { schema } = &asked[0].kind else {
                panic!("{asked:?}");
            };
            assert!(schema.as_str().contains("properties"));
        }
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn a_page_is_asked_for() {
    for era in ["legacy", "modern"] {
        let scene = Scene::new();
        let set = scene.ready(scene.scripted(era)).await;
        let person = Person::answering([Answer::Accept { content: None }]);
        let output = person.call(&tool(&set, "ask_url"), json!({})).await;
        let received: Value = serde_json::from_str(&output.joined_text()).unwrap();
        let accepted = json!({"action": "accept"});
        match era {
            "legacy" => assert_eq!(received, accepted),
            // No state was given, so none may come back.
            _ => assert_eq!(received, json!([{"page": accepted}, false])),
        }
        assert_eq!(
            person.questions.lock().unwrap()[0].kind,
            QuestionKind::Url {
                url: "https://example.com/sign-in".to_owned()
            }
        );
        scene.pool.shut_down().await;
    }
}

#[tokio::test]
async fn every_round_of_input_has_its_own_request_and_there_are_ten() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("modern")).await;
    let output = Person::default()
        .call(&tool(&set, "endless"), json!({}))
        .await;
    assert_eq!(
        output.joined_text(),
        "the MCP server \"scripted\" asked for input 10 times in one call"
    );
    let rounds: Vec<Value> = scene
        .trace()
        .into_iter()
        .filter(|line| line["params"]["name"] == "endless")
        .collect();
    assert_eq!(rounds.len(), 11);
    let mut ids: Vec<i64> = rounds
        .iter()
        .map(|line| line["id"].as_i64().unwrap())
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 11);
    assert!(rounds[0]["params"].get("requestState").is_none());
    assert_eq!(rounds[1]["params"]["requestState"], "again");
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn pages_that_a_refusal_names_are_visited_before_the_next_attempt() {
    let scene = Scene::new();
    let set = scene.ready(scene.scripted("legacy")).await;
    let declined = Person::default()
        .call(&tool(&set, "endless"), json!({}))
        .await;
    assert!(declined.joined_text().contains("visit first"));
    let accepting = std::iter::repeat_n(Answer::Accept { content: None }, 50);
    let person = Person::answering(accepting);
    let output = person.call(&tool(&set, "endless"), json!({})).await;
    assert!(output.joined_text().contains("asked for input 10 times"));
    assert_eq!(person.questions.lock().unwrap().len(), 11);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn roots_are_told_and_sampling_is_refused() {
    let scene = Scene::new();
    let root = format!("file://{}", scene.home.path().display());
    let roots = json!({"roots": [{"uri": root, "name": "working directory"}]});
    let set = scene.ready(scene.scripted("legacy")).await;
    let received = text_of(&set, "roots", json!({})).await;
    assert_eq!(
        serde_json::from_str::<Value>(&received).unwrap(),
        json!([roots, {}])
    );
    let refused = text_of(&set, "sample", json!({})).await;
    assert!(refused.contains("-32601"), "{refused}");
    let mut modern = scene.scripted("modern");
    modern.name = "modern".to_owned();
    let set = scene.ready(modern).await;
    let received = text_of(&set, "roots", json!({})).await;
    assert_eq!(
        serde_json::from_str::<Value>(&received).unwrap(),
        json!({"r": roots})
    );
    let output = Person::default()
        .call(&tool(&set, "sample"), json!({}))
        .await;
    assert!(output.joined_text().contains("sampling/createMessage"));
    scene.pool.shut_down().await;
}
