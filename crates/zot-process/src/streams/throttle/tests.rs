use super::*;

#[tokio::test(start_paused = true)]
async fn a_burst_is_free_and_more_costs_time() {
    let now = Instant::now();
    let mut throttle = Throttle::new(100, now);
    assert_eq!(throttle.take(100, now), None);
    let until = throttle.take(50, now).unwrap();
    assert_eq!(until - now, Duration::from_millis(500));
    assert_eq!(throttle.take(0, until), None);
    assert_eq!(throttle.take(100, until + Duration::from_secs(2)), None);
}

#[tokio::test(start_paused = true)]
async fn only_a_lasting_flood_counts() {
    let start = Instant::now();
    let mut throttle = Throttle::new(100, start);
    let mut now = start;
    for _ in 0..20 {
        if let Some(until) = throttle.take(100, now) {
            now = until;
        }
    }
    let flooded = throttle.pausing_for(now);
    assert!(flooded >= Duration::from_secs(15), "{flooded:?}");
    // After a calm spell the next burst counts from zero.
    let later = now + Duration::from_secs(5);
    assert_eq!(throttle.pausing_for(later), Duration::ZERO);
    throttle.take(150, later);
    assert!(throttle.pausing_for(later) < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn refusals_cost_nothing() {
    let now = Instant::now();
    let mut throttle = Throttle::new(10, now);
    let taken = (0..1_000_000).filter(|_| throttle.try_take(now)).count();
    assert_eq!(taken, 10);
    assert!(throttle.try_take(now + Duration::from_millis(100)));
}
