use std::collections::HashSet;

use super::{MAX_MCP_TOOL_NAME_BYTES, server_prefixes, tool_names};

fn is_valid(name: &str) -> bool {
    name.len() <= MAX_MCP_TOOL_NAME_BYTES
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "_-".contains(character))
}

#[test]
fn a_valid_name_stays_as_it_is() {
    let prefixes = server_prefixes(&["git"]);
    assert_eq!(
        tool_names(&prefixes["git"], &["status", "log-all"]),
        ["git__status", "git__log-all"]
    );
}

#[test]
fn no_two_tools_share_a_name() {
    let servers = [
        "a", "a__b", "a_", "a b", "a.b", "a_b", "1", "_1", "", "ä", "a_b_c",
    ];
    let long = "x".repeat(300);
    let longer = "x".repeat(301);
    let tools = [
        "b__c",
        "c",
        "b",
        "_b",
        "read.file",
        "read_file",
        "read file",
        "read-file",
        "",
        "c",
        "c",
        &long,
        &longer,
        "日本",
    ];
    let prefixes = server_prefixes(&servers);
    let mut seen = HashSet::new();
    for server in servers {
        for name in tool_names(&prefixes[server], &tools) {
            assert!(is_valid(&name), "{name}");
            assert!(seen.insert(name.clone()), "{name} is there twice");
        }
    }
    assert_eq!(seen.len(), servers.len() * tools.len());
}

#[test]
fn names_do_not_depend_on_the_order() {
    let one = tool_names("s", &["a.b", "a_b", "c"]);
    let other = tool_names("s", &["c", "a_b", "a.b"]);
    assert_eq!(one[0], other[2]);
    assert_eq!(one[1], other[1]);
    assert_eq!(one[2], other[0]);
    assert_ne!(one[0], one[1]);
}
