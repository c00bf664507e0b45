use super::*;

fn instance(name: &str, in_flight: usize) -> Instance {
    Instance {
        service: "rtr".to_owned(),
        instance: name.to_owned(),
        host: "a".to_owned(),
        pid: 1,
        version: "1".to_owned(),
        in_flight,
        capacity: 10,
        draining: false,
        ended: false,
        store_lag_ms: None,
    }
}

fn choose(presence: &Presence, tried: &[String]) -> Option<String> {
    presence.choose("rtr", tried, || 0.5)
}

#[tokio::test(start_paused = true)]
async fn the_least_loaded_that_is_alive_is_chosen() {
    let presence = Presence::default();
    presence.note(instance("busy", 9));
    presence.note(instance("idle", 0));
    presence.note(Instance {
        draining: true,
        ..instance("ending", 0)
    });
    let none: [String; 0] = [];
    assert_eq!(choose(&presence, &none).as_deref(), Some("idle"));
    let tried = ["idle".to_owned()];
    assert_eq!(choose(&presence, &tried).as_deref(), Some("busy"));
    assert_eq!(presence.choose("exc", &none, || 0.5), None);

    presence.suspect("rtr", "idle");
    assert_eq!(choose(&presence, &none).as_deref(), Some("busy"));

    tokio::time::advance(Duration::from_secs(2)).await;
    presence.note(instance("idle", 0));
    assert_eq!(
        choose(&presence, &none).as_deref(),
        Some("busy"),
        "an overdue announcement weighs less than a request that was not answered"
    );
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(choose(&presence, &none).as_deref(), Some("idle"));
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(choose(&presence, &none), None);
    assert!(presence.instances().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_says_it_ended_is_gone_at_once() {
    let presence = Presence::default();
    presence.note(instance("a", 0));
    assert_eq!(presence.instances().len(), 1);
    presence.note(Instance {
        ended: true,
        ..instance("a", 0)
    });
    assert!(presence.instances().is_empty());
}

#[test]
fn no_more_requests_than_the_capacity_begin() {
    let announced = Arc::new(Announced {
        service: "rtr".to_owned(),
        capacity: 1,
        announced_capacity: AtomicUsize::new(1),
        in_flight: AtomicUsize::new(0),
        draining: AtomicBool::new(false),
    });
    let first = announced.begin();
    assert!(first.is_some());
    assert!(announced.begin().is_none());
    drop(first);
    assert!(announced.begin().is_some());
}

#[test]
fn one_with_little_to_do_is_chosen_more_often_but_not_always() {
    let presence = Presence::default();
    presence.note(instance("busy", 4));
    presence.note(instance("idle", 0));
    let mut chosen = HashMap::new();
    for step in 0..100 {
        // The instances get their numbers in any order, here all pairs of them.
        let mut numbers = [f64::from(step % 10) / 10.0, f64::from(step / 10) / 10.0].into_iter();
        let name = presence.choose("rtr", &[], || numbers.next().unwrap_or(1.0) + 0.05);
        *chosen.entry(name.unwrap()).or_insert(0) += 1;
    }
    assert!(chosen["idle"] > chosen["busy"] * 2, "{chosen:?}");
    assert!(chosen["busy"] > 0, "{chosen:?}");
}
