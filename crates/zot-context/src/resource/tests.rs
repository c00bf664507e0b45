use super::Resources;
use crate::mention::mentions;

fn known() -> Resources {
    let mut known = Resources::default();
    known.add("docs", "memo://first");
    known.add("docs", "memo://odd.");
    known.add_server("db");
    known
}

fn check(text: &str, expected: &[&str]) {
    let known = known();
    let mentions = mentions(text);
    let found = mentions.iter().filter_map(|mention| known.resolve(mention));
    let found: Vec<String> = found.map(|resource| resource.to_string()).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_server_and_a_uri_are_a_resource() {
    check("see @docs:memo://first", &["docs:memo://first"]);
    check("see @docs:memo://first.", &["docs:memo://first"]);
    check("(@docs:memo://first)", &["docs:memo://first"]);
    // The server lists it with the dot.
    check("see @docs:memo://odd.", &["docs:memo://odd."]);
    // Not listed, but a template may cover it.
    check("@db:table://users, please", &["db:table://users"]);
    check("@\"db:table://a b\" and more", &["db:table://a b"]);
}

#[test]
fn anything_else_is_not() {
    check("@other:memo://first", &[]);
    check("@docs: what now", &[]);
    check("@docs", &[]);
    check("me@docs:memo://first", &[]);
    check("docs:memo://first", &[]);
}
