use super::{Member, members_of, problems};

fn member(name: &str, dependencies: &[&str]) -> Member {
    Member {
        name: name.to_owned(),
        dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
    }
}

fn check(name: &str, dependency: &str, expected: Option<&str>) {
    let found = problems(&[member(name, &[dependency])]);
    let expected: Vec<String> = expected
        .map(|reason| format!("{name} may not depend on {dependency}: {reason}"))
        .into_iter()
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn all_lower_layers_are_allowed() {
    check("zot-agent", "zot-conversation", None);
    check("zot-rpc", "zot-wire", None);
    check("zot-cli", "zot-rpc", None);
    check("zot-ext", "zot-wire", None);
    check("zot-example-hello", "zot-ext", None);
    check("xtask", "zot-cli", None);
    check("xtask", "testkit", None);
}

#[test]
fn the_same_layer_and_higher_ones_are_refused() {
    let same = Some("crates of the same layer may not depend on each other");
    let higher = Some("it is in a higher layer");
    check("zot-agent", "zot-provider", same);
    check("zot-wire", "zot-conversation", same);
    check("zot-rpc", "zot-ext", same);
    check("zot-provider", "zot-sdk", higher);
    check("zot-conversation", "zot-cli", higher);
}

#[test]
fn examples_depend_on_one_crate_and_nothing_depends_on_them() {
    let reason = Some("an example may depend on one crate only");
    check("zot-example-sdk", "zot-sdk", None);
    check("zot-example-sdk", "zot-agent", reason);
    check("zot-example-hello", "zot-wire", reason);
    check("zot-cli", "zot-example-hello", Some("it is an example"));
}

#[test]
fn zot_ext_depends_on_zot_wire_only() {
    let reason = Some("it may depend on zot-wire only");
    check("zot-ext", "zot-conversation", reason);
    check("zot-ext", "zot-sdk", reason);
}

#[test]
fn programs_do_not_depend_on_test_support() {
    let reason = Some("it is for tests only");
    check("zot-cli", "testkit", reason);
    check("zot-agent", "xtask", reason);
    check("zot-ext", "testkit", reason);
    check("testkit", "xtask", reason);
    check(
        "testkit",
        "zot-wire",
        Some("testkit talks to zot through sockets and pipes only"),
    );
}

#[test]
fn a_crate_missing_from_the_table_is_reported_once() {
    let found = problems(&[
        member("zot-utils", &["zot-wire"]),
        member("zot-sdk", &["zot-utils", "zot-agent"]),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("zot-utils is in no layer"),
        "{found:?}"
    );
}

#[test]
fn only_normal_dependencies_in_the_workspace_count() {
    let metadata = r#"{"packages": [{"name": "zot-cli", "dependencies": [
        {"name": "zot-sdk", "kind": null, "path": "/crates/zot-sdk"},
        {"name": "zot-wire", "kind": "build", "path": "/crates/zot-wire"},
        {"name": "testkit", "kind": "dev", "path": "/crates/testkit"},
        {"name": "tokio", "kind": null}
    ]}]}"#;
    assert_eq!(
        members_of(metadata.as_bytes()).unwrap(),
        [member("zot-cli", &["zot-sdk", "zot-wire"])]
    );
}
