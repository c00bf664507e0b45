use std::time::Duration;

use super::{Budget, Spent};

fn spent() -> Spent {
    Spent {
        steps: 3,
        cost_usd: 0.25,
        tokens: 36,
        elapsed: Duration::from_millis(100),
    }
}

#[test]
fn each_limit_is_reached_by_its_own_count() {
    let none = Budget::default();
    assert_eq!(none.reached(&spent()), None);
    assert!(!none.limits_spending());
    for (budget, expected) in [
        (
            Budget {
                max_steps: Some(3),
                ..none
            },
            Some("budget: max_steps 3 reached"),
        ),
        (
            Budget {
                max_steps: Some(4),
                ..none
            },
            None,
        ),
        (
            Budget {
                max_cost_usd: Some(0.25),
                ..none
            },
            Some("budget: max_cost_usd 0.25 reached (0.250000 spent)"),
        ),
        (
            Budget {
                max_tokens: Some(36),
                ..none
            },
            Some("budget: max_tokens 36 reached (36 used)"),
        ),
        (
            Budget {
                max_tokens: Some(37),
                ..none
            },
            None,
        ),
        (
            Budget {
                timeout: Some(Duration::from_millis(100)),
                ..none
            },
            Some("budget: timeout_ms 100 reached"),
        ),
    ] {
        assert_eq!(budget.reached(&spent()).as_deref(), expected, "{budget:?}");
    }
}

#[test]
fn a_running_call_is_not_stopped_for_the_number_of_calls() {
    let budget = Budget {
        max_steps: Some(1),
        ..Budget::default()
    };
    assert_eq!(budget.spending_reached(&spent()), None);
}
