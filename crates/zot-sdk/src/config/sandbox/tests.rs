use zot_process::sandbox::{ConnectRule, Level, Policy};

use super::jailed;

#[test]
fn the_jail_alone_is_what_it_always_was() {
    assert_eq!(jailed(Policy::default()), Policy::jail());
}

#[test]
fn jail_and_sandbox_together_are_the_stricter_of_both() {
    let host: ConnectRule = "example.com:443".parse().unwrap();
    for level in [Level::Workspace, Level::ReadOnly] {
        let mut sandbox = Policy::at(level);
        sandbox.rules.connect.push(host.clone());
        let both = jailed(sandbox);
        assert_eq!(both.level, level);
        assert_eq!(both.rules.connect, std::slice::from_ref(&host));
        assert!(!both.rules.inherits_environment);
        assert!(both.rules.hides_system_from_tools);
    }
}
