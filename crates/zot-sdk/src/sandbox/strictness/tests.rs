use std::path::PathBuf;

use zot_process::sandbox::{Level, Policy};

use super::is_within;

#[test]
fn whatever_allows_more_is_not_within() {
    let mut bound = Policy::at(Level::Workspace);
    bound.rules.connect = vec!["a:1".parse().unwrap(), "b:1".parse().unwrap()];
    bound.rules.read = vec![PathBuf::from("/r")];
    bound.rules.run = Some(vec![PathBuf::from("/bin/ls")]);
    bound.rules.environment = vec!["A".to_owned()];
    bound.rules.limits.processes = Some(5);
    assert!(is_within(&bound, &bound));

    let changed = |change: &dyn Fn(&mut Policy)| {
        let mut policy = bound.clone();
        change(&mut policy);
        is_within(&policy, &bound)
    };
    let stricter: [&dyn Fn(&mut Policy); 6] = [
        &|policy| policy.level = Level::ReadOnly,
        &|policy| policy.rules.connect.clear(),
        &|policy| policy.rules.run = Some(Vec::new()),
        &|policy| policy.rules.limits.processes = Some(4),
        &|policy| policy.rules.limits.open_files = Some(4),
        &|policy| policy.rules.hides_system_from_tools = true,
    ];
    for (index, change) in stricter.iter().enumerate() {
        assert!(changed(change), "{index}");
    }
    let looser: [&dyn Fn(&mut Policy); 10] = [
        &|policy| policy.level = Level::Off,
        &|policy| policy.rules.connect.push("*".parse().unwrap()),
        &|policy| policy.rules.connect.push("a:2".parse().unwrap()),
        &|policy| policy.rules.read.push(PathBuf::from("/")),
        &|policy| policy.rules.write.push(PathBuf::from("/r")),
        &|policy| policy.rules.run = None,
        &|policy| policy.rules.unix_sockets.push(PathBuf::from("/s")),
        &|policy| policy.rules.environment.push("B".to_owned()),
        &|policy| policy.rules.inherits_environment = true,
        &|policy| policy.rules.limits.processes = None,
    ];
    for (index, change) in looser.iter().enumerate() {
        assert!(!changed(change), "{index}");
    }
}

#[test]
fn whatever_is_confined_is_within_no_confinement() {
    assert!(is_within(&Policy::at(Level::Workspace), &Policy::default()));
    assert!(is_within(&Policy::jail(), &Policy::default()));
}
