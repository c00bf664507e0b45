use std::collections::BTreeSet;

use super::*;
use crate::zino::executor::Code;
use crate::zino::memory::Request as MemoryRequest;
use crate::zino::{Request, claims, executor};

#[test]
fn every_request_has_one_rule_with_a_reason() {
    let names: BTreeSet<_> = RULES
        .iter()
        .map(|rule| (rule.service, rule.request))
        .collect();
    assert_eq!(names.len(), RULES.len());
    assert!(RULES.iter().all(|rule| !rule.reason.is_empty()));
}

#[test]
fn an_unknown_request_is_not_repeated() {
    assert_eq!(Repeat::of("mem", "frobnicate"), Repeat::Never);
    assert_eq!(Repeat::of("rtr", "get_soft"), Repeat::Never);
}

#[test]
fn a_name_makes_an_append_repeatable() {
    let append = |call: Option<&str>| MemoryRequest::AppendHistory {
        channel_id: "c".to_owned(),
        messages: Vec::new(),
        call: call.map(str::to_owned),
        hold: None,
    };
    assert!(append(Some("1")).is_repeatable());
    assert!(!append(None).is_repeatable());
}

#[test]
fn running_code_is_not_repeatable_even_with_a_name_but_asking_for_the_outcome_is() {
    let code = Code {
        call: Some("1".to_owned()),
        ..Code::default()
    };
    assert!(!executor::Request::Execute(code.clone()).is_repeatable());
    assert!(executor::Request::Outcome(code).is_repeatable());
}

#[test]
fn claims_are_the_same_as_requests_of_mem_and_on_their_own() {
    let claim = claims::Request::Finish {
        call: "1".to_owned(),
        owner: "me".to_owned(),
        result: None,
    };
    assert!(claim.is_repeatable());
    assert!(MemoryRequest::Claim(claim).is_repeatable());
}
