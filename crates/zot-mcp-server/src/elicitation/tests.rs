use std::time::Duration;

use super::{Answer, Kind, Question};
use crate::request::ClientAbilities;
use serde_json::{Map, json};
use zot_mcp::version::Era;

#[test]
fn answers_are_read_strictly() {
    let read = |value| Answer::read(&value);
    assert_eq!(
        read(json!({"action": "accept"})),
        Some(Answer::Accept(Map::new()))
    );
    assert!(matches!(
        read(json!({"action": "accept", "content": {"a": 1}})),
        Some(Answer::Accept(content)) if content["a"] == 1
    ));
    assert_eq!(read(json!({"action": "accept", "content": 7})), None);
    assert_eq!(read(json!({"action": "decline"})), Some(Answer::Decline));
    assert_eq!(read(json!({"action": "cancel"})), Some(Answer::Cancel));
    assert_eq!(read(json!({"action": "Accept"})), None);
    assert_eq!(read(json!({})), None);
    assert_eq!(read(json!(7)), None);
}

#[test]
fn a_question_is_put_as_its_era_and_kind_want_it() {
    let question = |kind| Question {
        message: "m".to_owned(),
        kind,
        patience: Duration::ZERO,
    };
    let form = question(Kind::Form(json!({"type": "object"})));
    let expected = json!({"message": "m", "requestedSchema": {"type": "object"}});
    assert_eq!(form.params(Era::Legacy, "1"), expected);
    assert_eq!(form.params(Era::Modern, "1"), expected);
    let url = question(Kind::Url("https://a.example".to_owned()));
    assert_eq!(
        url.params(Era::Modern, "1"),
        json!({"mode": "url", "message": "m", "url": "https://a.example"})
    );
    assert_eq!(url.params(Era::Legacy, "1")["elicitationId"], "1");
    let forms = ClientAbilities {
        elicits: true,
        opens_urls: false,
    };
    assert!(form.suits(forms) && !url.suits(forms));
}
