use super::{Deprecation, Efforts, ReasoningEffort};

#[test]
fn an_effort_that_is_not_accepted_becomes_the_nearest_that_is() {
    for (accepted, wanted, expected) in [
        ("minimal low medium high", "minimal", Some("minimal")),
        ("none low medium high", "minimal", Some("low")),
        ("low medium high", "xhigh", Some("high")),
        ("low high max", "medium", Some("high")),
        ("high", "minimal", Some("high")),
        ("medium high xhigh", "low", Some("medium")),
        ("low medium high xhigh max", "max", Some("max")),
        ("none low", "none", Some("none")),
        // As little as it accepts.
        ("low high", "none", Some("low")),
        // A request for reasoning never becomes `none`.
        ("none", "high", None),
        ("", "high", None),
        ("", "none", None),
    ] {
        let wanted: ReasoningEffort = wanted.parse().unwrap();
        let nearest = Efforts::from_words(accepted).nearest(wanted);
        assert_eq!(
            nearest.map(ReasoningEffort::as_str),
            expected,
            "{wanted:?} of {accepted:?}"
        );
    }
}

#[test]
fn a_set_of_efforts_lists_what_was_put_in() {
    let set = Efforts::from_words("max none  low unheard-of");
    let names: Vec<&str> = set.iter().map(ReasoningEffort::as_str).collect();
    assert_eq!(names, ["none", "low", "max"]);
    assert!(set.contains(ReasoningEffort::Low));
    assert!(!set.contains(ReasoningEffort::High));
    assert!(!set.is_empty());
    assert!(Efforts::from_words("").is_empty());
    for effort in ReasoningEffort::ALL {
        assert_eq!(effort.as_str().parse(), Ok(effort));
    }
}

#[test]
fn an_end_is_near_sixty_days_before_and_ever_after() {
    let deprecation = Deprecation {
        ends: "2026-11-30".parse().unwrap(),
        replacement: Some("newer".into()),
    };
    for (today, near, text) in [
        ("2026-09-30", false, "ends on 2026-11-30; use newer"),
        ("2026-10-01", true, "ends on 2026-11-30; use newer"),
        ("2026-11-29", true, "ends on 2026-11-30; use newer"),
        ("2026-11-30", true, "ended on 2026-11-30; use newer"),
        ("2030-01-01", true, "ended on 2026-11-30; use newer"),
    ] {
        let today = today.parse().unwrap();
        assert_eq!(deprecation.is_near(today), near, "{today}");
        assert_eq!(deprecation.describe(today), text);
    }
}
