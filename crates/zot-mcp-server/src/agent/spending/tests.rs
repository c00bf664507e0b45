use super::Spending;
use zot_sdk::Budget;
use zot_sdk::conversation::Usage;

fn turn(input: u64, output: u64, cost_usd: f64) -> Usage {
    Usage {
        input,
        output,
        cost_usd,
        ..Usage::default()
    }
}

#[test]
fn what_is_spent_is_no_longer_left() {
    let spending = Spending::new(Budget {
        max_steps: Some(3),
        max_cost_usd: Some(1.0),
        max_tokens: Some(100),
        timeout: None,
    });
    spending.add(&turn(30, 10, 0.75));
    let left = spending.left();
    assert_eq!(left.max_steps, Some(2));
    assert_eq!(left.max_cost_usd, Some(0.25));
    assert_eq!(left.max_tokens, Some(60));
    assert_eq!(spending.exhausted(), None);
    spending.add(&turn(30, 10, 0.75));
    assert_eq!(spending.left().max_cost_usd, Some(0.0));
    assert!(
        spending
            .exhausted()
            .is_some_and(|reason| reason.contains("max_cost_usd"))
    );
}

#[test]
fn without_a_budget_nothing_is_limited() {
    let spending = Spending::new(Budget::default());
    spending.add(&turn(u64::from(u32::MAX), 1, 1e6));
    assert_eq!(spending.left(), Budget::default());
    assert_eq!(spending.exhausted(), None);
}
