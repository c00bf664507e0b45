use super::*;

#[test]
fn subjects_begin_with_the_namespace() {
    let subjects = Subjects::new("prod", "daemon", "a1").unwrap();
    assert_eq!(subjects.service("rtr"), "zino.prod.rtr");
    assert_eq!(subjects.directed("rtr", "b2"), "zino.prod.rtr.i.b2");
    assert_eq!(subjects.control(), "zino.prod.ctl.daemon.a1");
    assert_eq!(subjects.inbox(), "_INBOX_daemon.a1");
    assert_eq!(subjects.presence("agent.coder"), "zino.prod.hb.agent.coder");
    assert_eq!(
        subjects.read_event(&subjects.event("session", "x")),
        Some(("session", "x"))
    );
    assert_eq!(subjects.read_event("zino.other.ev.session.x"), None);
}

#[test]
fn a_name_that_is_not_one_token_is_refused() {
    for name in ["", "a.b", "a b", "*", ">", "ä", &"a".repeat(65)] {
        assert!(Subjects::new(name, "daemon", "a1").is_err(), "{name:?}");
        assert!(Subjects::new("prod", name, "a1").is_err(), "{name:?}");
    }
    assert!(is_service_name("agent.coder"));
    assert!(!is_service_name("agent."));
    assert!(!is_service_name("agent.>"));
}
