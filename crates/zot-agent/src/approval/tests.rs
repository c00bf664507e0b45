use super::{
    ApprovalPolicy, ApprovalScope, Approvals, Asked, Decision, NotWaiting, Remember, Verdict,
};

fn allow(remember: Remember) -> Decision {
    Decision {
        verdict: Verdict::Allow { arguments: None },
        remember,
    }
}

fn waits(approvals: &Approvals, id: &str, tool: &str) -> bool {
    matches!(approvals.ask(&id.into(), tool), Asked::Wait(_))
}

#[test]
fn the_policy_names_tools() {
    let policy = |scope| ApprovalPolicy {
        scope,
        ..ApprovalPolicy::default()
    };
    assert!(!ApprovalPolicy::default().covers("bash"));
    assert!(policy(ApprovalScope::AllTools).covers("bash"));
    let some = policy(ApprovalScope::Tools(vec!["write".to_owned()]));
    assert!(some.covers("write") && !some.covers("read"));
}

#[test]
fn a_decision_is_remembered_as_far_as_it_says() {
    let approvals = Approvals::default();
    for (remember, tool_waits, other_waits) in [
        (Remember::Call, true, true),
        (Remember::Tool, false, true),
        (Remember::Session, false, false),
    ] {
        let _receiver = approvals.ask(&"a".into(), "bash");
        if let Err(NotWaiting) = approvals.decide(&"a".into(), allow(remember)) {
            // Remembered from the round before: nothing waited.
            assert_eq!(remember, Remember::Session);
            let _receiver = approvals.ask(&"b".into(), "write");
            approvals.decide(&"b".into(), allow(remember)).unwrap();
        }
        assert_eq!(waits(&approvals, "c", "bash"), tool_waits, "{remember:?}");
        assert_eq!(waits(&approvals, "d", "edit"), other_waits, "{remember:?}");
    }
}

#[test]
fn without_a_person_calls_are_refused() {
    let approvals = Approvals::default();
    let Asked::Wait(mut receiver) = approvals.ask(&"a".into(), "bash") else {
        panic!("must wait");
    };
    approvals.close("refused: nobody is there".to_owned());
    assert!(receiver.try_recv().is_err());
    assert!(matches!(
        approvals.ask(&"b".into(), "bash"),
        Asked::Known(Verdict::Deny { .. })
    ));
    assert_eq!(
        approvals.decide(&"a".into(), allow(Remember::Call)),
        Err(NotWaiting)
    );
}

#[test]
fn patterns_cover_the_tools_of_a_server() {
    let policy = ApprovalPolicy {
        scope: ApprovalScope::Tools(vec!["bash".to_owned(), "github__*".to_owned()]),
        ..ApprovalPolicy::default()
    };
    let covered = ["bash", "github__create_issue", "bash2", "git__log"];
    assert_eq!(
        covered.map(|tool| policy.covers(tool)),
        [true, true, false, false]
    );
}
