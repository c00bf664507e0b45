use std::time::SystemTime;

use super::{Contact, ContactLog, MAX_CONTACTS};
use crate::sandbox::host::Target;

fn contact(text: &str, is_allowed: bool) -> Contact {
    Contact::new(&Target::parse(text, None).unwrap(), is_allowed)
}

fn hosts(contacts: &[Contact]) -> Vec<&str> {
    contacts
        .iter()
        .map(|contact| contact.host.as_str())
        .collect()
}

#[test]
fn a_repeated_host_is_counted_and_moves_to_the_end() {
    let log = ContactLog::default();
    let early = SystemTime::UNIX_EPOCH;
    log.add(Contact {
        first: early,
        last: early,
        ..contact("a.example:443", false)
    });
    log.add(contact("b.example:443", false));
    log.clone().add(contact("a.example:443", false));
    let all = log.all();
    assert_eq!(hosts(&all), ["b.example", "a.example"]);
    assert_eq!(all[1].times, 2);
    assert!(all[1].first == early && all[1].last > early);
    // Another port, another decision and another reason are other contacts.
    log.add(contact("a.example:80", false));
    log.add(contact("a.example:443", true));
    let mut private = contact("a.example:443", false);
    private.private_address = Some([10, 0, 0, 1].into());
    log.add(private);
    assert_eq!(log.all().len(), 5);
}

#[test]
fn a_mark_separates_what_was_refused_before() {
    let log = ContactLog::default();
    log.add(contact("before.example:443", false));
    log.add(contact("again.example:443", false));
    let mark = log.mark();
    assert!(log.refused_since(mark).is_empty());
    log.add(contact("allowed.example:443", true));
    log.add(contact("again.example:443", false));
    log.add(contact("new.example:443", false));
    let refused = log.refused_since(mark);
    assert_eq!(hosts(&refused), ["again.example", "new.example"]);
}

#[test]
fn the_oldest_is_forgotten_and_allowed_hosts_are_not_pushed_out_by_refused_ones() {
    let log = ContactLog::default();
    log.add(contact("allowed.example:443", true));
    let mark = log.mark();
    for number in 0..MAX_CONTACTS + 10 {
        log.add(contact(&format!("host-{number}.example:443"), false));
    }
    let all = log.all();
    assert_eq!(all.len(), MAX_CONTACTS + 1);
    assert_eq!(all[0].host, "allowed.example");
    assert_eq!(all[1].host, "host-10.example");
    assert_eq!(log.forgotten(), 10);
    assert_eq!(log.refused_since(mark).len(), MAX_CONTACTS);
}

#[test]
fn a_contact_knows_the_rule_that_would_allow_it() {
    let rule = |contact: &Contact| contact.rule().unwrap().to_string();
    assert_eq!(rule(&contact("a.example:22", false)), "a.example:22");
    assert_eq!(rule(&contact("[::1]:22", false)), "[::1]:22");
    let mut private = contact("a.example:22", false);
    private.private_address = Some([10, 0, 0, 1].into());
    assert_eq!(rule(&private), "10.0.0.1:22");
}
