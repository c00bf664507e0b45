use super::{Document, rank, words};

const TOOLS: [(&str, &str, &str); 6] = [
    (
        "github__create_issue",
        "github",
        "Create a new issue in a repository",
    ),
    (
        "github__list_issues",
        "github",
        "List issues, filtered by state and labels",
    ),
    (
        "github__search_code",
        "github",
        "Search for code across repositories",
    ),
    (
        "files__read_text",
        "files",
        "Read a file as text, and mention issues with its encoding",
    ),
    (
        "files__directoryTree",
        "files",
        "Shows a directory as a tree",
    ),
    ("time__convert", "time", "Convert a time between time zones"),
];

#[track_caller]
fn check(query: &str, expected: &[&str]) {
    let documents = TOOLS.map(|(name, server, description)| Document {
        name,
        server,
        description,
    });
    let found = rank(query, &documents).into_iter();
    let found: Vec<&str> = found.map(|index| TOOLS[index].0).collect();
    assert_eq!(found, expected, "{query:?}");
}

#[test]
fn names_count_more_than_descriptions() {
    check(
        "issues",
        &[
            "github__create_issue",
            "github__list_issues",
            "files__read_text",
        ],
    );
}

#[test]
fn rare_words_decide() {
    check(
        "create an issue",
        &[
            "github__create_issue",
            "github__list_issues",
            "files__read_text",
        ],
    );
}

#[test]
fn a_server_finds_its_tools() {
    check("time", &["time__convert"]);
    check(
        "files directory",
        &["files__directoryTree", "files__read_text"],
    );
}

#[test]
fn the_beginning_of_a_word_finds_it() {
    check("repo", &["github__search_code", "github__create_issue"]);
}

#[test]
fn exact_names_come_first() {
    check(
        "github__search_code",
        &[
            "github__search_code",
            "github__create_issue",
            "github__list_issues",
        ],
    );
}

#[test]
fn nothing_is_found_for_nothing() {
    check("", &[]);
    check("!?", &[]);
    check("zebra", &[]);
}

#[test]
fn words_are_split_where_people_see_them() {
    assert_eq!(
        words("listOpenPullRequests_v2 für-alle HTTP2Server"),
        [
            "list", "open", "pull", "request", "v2", "für", "alle", "http2", "server"
        ]
    );
}
