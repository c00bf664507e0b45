use super::Secret;

#[test]
fn a_secret_is_not_printed_and_can_be_compared() {
    let secret = Secret::from("sk-canary".to_owned());
    assert_eq!(format!("{secret:?}"), "[redacted]");
    assert_eq!(&*secret.clone(), "sk-canary");
    assert!(secret == Secret::from("sk-canary") && secret != Secret::from("other"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_secret_is_kept_out_of_swap() {
    use rustix::process::{Resource, getrlimit};
    if getrlimit(Resource::Memlock).current == Some(0) {
        testkit::skip("no memory may be locked here");
        return;
    }
    let secret = Secret::from("sk-canary");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    assert_ne!(locked.unwrap().trim(), "0 kB", "{secret:?}");
}
