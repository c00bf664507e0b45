use super::{Member, complaints, members_of};

fn member(name: &str, dependencies: &[&str]) -> Member {
    Member {
        name: name.to_owned(),
        dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
    }
}

fn check(name: &str, dependency: &str, expected: Option<&str>) {
    let found = complaints(&[member(name, &[dependency])]);
    let expected: Vec<String> = expected
        .map(|reason| format!("{name} may not depend on {dependency}: {reason}"))
        .into_iter()
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn lower_layers_are_allowed_however_far_down() {
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
    let same = Some("crates of one layer do not meet; the layer above introduces them");
    let higher = Some("it is in a higher layer");
    check("zot-agent", "zot-provider", same);
    check("zot-wire", "zot-conversation", same);
    check("zot-rpc", "zot-ext", same);
    check("zot-provider", "zot-sdk", higher);
    check("zot-conversation", "zot-cli", higher);
}

#[test]
fn examples_have_what_authors_have_and_nobody_needs_them() {
    let reason = Some("an example has what other people have: one crate");
    check("zot-example-sdk", "zot-sdk", None);
    check("zot-example-sdk", "zot-agent", reason);
    check("zot-example-hello", "zot-wire", reason);
    check("zot-cli", "zot-example-hello", Some("it is an example"));
}

#[test]
fn an_extension_links_the_wire_and_nothing_else() {
    let reason = Some("it may use zot-wire and nothing else");
    check("zot-ext", "zot-conversation", reason);
    check("zot-ext", "zot-sdk", reason);
}

#[test]
fn nothing_that_is_shipped_depends_on_what_is_for_tests() {
    let reason = Some("it is for tests only");
    check("zot-cli", "testkit", reason);
    check("zot-agent", "xtask", reason);
    check("zot-ext", "testkit", reason);
    check("testkit", "xtask", reason);
    check(
        "testkit",
        "zot-wire",
        Some("the test kit meets zot over sockets and pipes only"),
    );
}

#[test]
fn a_crate_without_a_place_is_refused_once() {
    let found = complaints(&[
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
fn only_this_repositorys_crates_outside_tests_count() {
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
