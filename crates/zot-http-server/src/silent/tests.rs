use super::Silent;

#[test]
fn the_oldest_goes_first_and_one_with_a_request_stays() {
    let silent = Silent::default();
    let (first, second, third) = (silent.enter(), silent.enter(), silent.enter());
    drop(first);
    assert_eq!(silent.len(), 2);
    assert!(silent.close_oldest());
    assert!(second.token.is_cancelled());
    assert!(!third.token.is_cancelled());
    assert!(silent.close_oldest());
    assert!(!silent.close_oldest());
}
