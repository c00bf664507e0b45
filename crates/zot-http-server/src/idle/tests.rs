use super::IdleConnections;

#[test]
fn the_oldest_is_closed_first_and_a_busy_one_stays() {
    let idle_connections = IdleConnections::default();
    let (first, second, third) = (
        idle_connections.insert(),
        idle_connections.insert(),
        idle_connections.insert(),
    );
    drop(first);
    assert_eq!(idle_connections.len(), 2);
    assert!(idle_connections.close_oldest());
    assert!(second.token.is_cancelled());
    assert!(!third.token.is_cancelled());
    assert!(idle_connections.close_oldest());
    assert!(!idle_connections.close_oldest());
}
