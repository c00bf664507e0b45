use super::*;

#[test]
fn objections_of_the_server_are_understood() {
    let read = |text| read_forbidden(text).map(|forbidden| forbidden.to_string());
    let publish = read("Permissions Violation for Publish to \"zino.Prod.exc\"").unwrap();
    assert!(
        publish.ends_with("publish to \"zino.Prod.exc\""),
        "{publish}"
    );
    let text = "Permissions Violation for Subscription to \"zino.a.exc\" using queue \"exc\"";
    let subscribe = read(text).unwrap();
    assert!(
        subscribe.ends_with("subscribe to \"zino.a.exc\""),
        "{subscribe}"
    );
    assert_eq!(read("Stale Connection"), None);
}

#[test]
fn a_subject_is_the_same_for_all_calls() {
    let forbidden = |subject: &str| Forbidden {
        action: ForbiddenAction::Publish,
        subject: subject.to_owned(),
    };
    let call = format!("_INBOX_agr.a1.{}", Key::new());
    assert_eq!(without_call(forbidden(&call)), forbidden("_INBOX_agr.a1.>"));
    for subject in ["zino.a.exc", "zino", "zino.a.ev.session.x"] {
        assert_eq!(without_call(forbidden(subject)), forbidden(subject));
    }
}
