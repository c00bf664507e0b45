use std::time::Duration;

use super::Tokens;

#[test]
fn answers_are_read_as_servers_write_them() {
    let read = |text: &str| Tokens::of_answer(text.as_bytes());
    let tokens =
        read(r#"{"access_token":"a","refresh_token":"r","expires_in":3600,"x":1}"#).unwrap();
    assert!(tokens.lasts(Duration::from_secs(3500)));
    assert!(!tokens.lasts(Duration::from_secs(3700)));
    assert_eq!(tokens.refresh(), Some("r"));
    let text = read(r#"{"access_token":"a","expires_in":"60"}"#).unwrap();
    assert!(!text.lasts(Duration::from_secs(61)));
    let forever = read(r#"{"access_token":"a"}"#).unwrap();
    assert!(forever.lasts(Duration::from_secs(1 << 30)));
    for bad in ["", "{}", r#"{"access_token":""}"#, "[]"] {
        assert!(read(bad).is_none(), "{bad}");
    }
    assert!(
        read(r#"{"access_token":"a","expires_in":-5}"#)
            .unwrap()
            .expires()
            .is_none()
    );
}

#[test]
fn entries_of_others_are_not_taken_for_ours() {
    for foreign in [
        serde_json::json!({"type": "oauth", "access": "a"}),
        serde_json::json!({"access_token": "a"}),
        serde_json::json!("sk-key"),
    ] {
        assert!(Tokens::of_entry(&foreign).is_none(), "{foreign}");
    }
}
