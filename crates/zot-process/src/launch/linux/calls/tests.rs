use super::{Refused, number, table};

#[test]
fn the_log_of_the_kernel_is_refused_to_everybody() {
    let confined = Refused {
        unconfined: true,
        ..Refused::default()
    };
    let table = table(confined);
    let refusal = table.get(&number(libc::SYS_syslog)).unwrap();
    assert!(refusal.cases.is_empty());
}
