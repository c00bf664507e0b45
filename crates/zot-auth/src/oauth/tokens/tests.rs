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

#[test]
fn a_login_of_the_original_is_read_and_renewed_in_its_own_form() {
    let before = serde_json::json!({"oauth": {
        "access_token": "a", "refresh_token": "r", "token_type": "Bearer",
        "expiry": "2026-05-01T10:00:00.123456789+02:00", "scope": "s",
        "client_id": "c", "id_token": "i", "account_id": "acc"
    }});
    let tokens = Tokens::of_entry(&before).unwrap();
    assert_eq!((tokens.access(), tokens.refresh()), ("a", Some("r")));
    assert!(!tokens.lasts(Duration::ZERO));
    let renewed = Tokens::new("a2", Some("r2"), tokens.expires());
    let after = renewed.to_entry(Some(&before));
    assert_eq!(Tokens::of_entry(&after), Some(renewed));
    for kept in ["token_type", "scope", "client_id", "id_token", "account_id"] {
        assert_eq!(after["oauth"][kept], before["oauth"][kept], "{kept}");
    }
    // Go's zero time.
    let endless = serde_json::json!({"oauth": {
        "access_token": "a", "expiry": "0001-01-01T00:00:00Z"
    }});
    assert_eq!(Tokens::of_entry(&endless).unwrap().expires(), None);
    for empty in [
        serde_json::json!({"oauth": null}),
        serde_json::json!({"oauth": {}}),
        serde_json::json!({"oauth": {"access_token": ""}}),
        serde_json::json!({"oauth": "a"}),
    ] {
        assert!(Tokens::of_entry(&empty).is_none(), "{empty}");
    }
}
