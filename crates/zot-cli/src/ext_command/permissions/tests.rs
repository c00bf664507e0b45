use super::*;

fn lines(rest: &str) -> Vec<String> {
    let manifest = format!(r#"{{"name":"x","exec":"x"{rest}}}"#);
    details(&Manifest::parse(manifest.as_bytes()).unwrap())
}

#[test]
fn everything_that_is_asked_for_is_shown() {
    assert!(lines("")[0].starts_with("may do everything you may do"));
    assert_eq!(
        lines(r#","permissions":{}"#),
        ["requests nothing beyond its own directory and data"]
    );
    assert_eq!(
        lines(r#","permissions":{"fs_write":["~/a b"],"network":true}"#),
        ["requests", "  write    \"~/a b\"", "  network  yes"]
    );
    assert_eq!(
        lines(r#","sandbox":"workspace""#),
        ["runs in the sandbox workspace"]
    );
    assert_eq!(
        lines(r#","sandbox":"read-only","permissions":{"connect":["a.org:443"]}"#),
        [
            "runs in the sandbox read-only; requests",
            "  connect  a.org:443"
        ]
    );
    let off = lines(r#","sandbox":"off","permissions":{"env":["KEY"],"network":true}"#);
    assert!(off[0].starts_with("may do everything you may do"));
    assert_eq!(off[1..], ["  env      KEY"]);
}
