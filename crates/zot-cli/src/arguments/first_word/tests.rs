use super::*;

fn intended(line: &[&str]) -> Option<String> {
    let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
    intended_command(&words)
}

fn check(line: &[&str], expected: &str) {
    assert_eq!(intended(line).as_deref(), Some(expected), "{line:?}");
}

#[test]
fn help_is_never_a_prompt() {
    check(&["help"], "zot --help");
    check(&["Help", "me"], "zot --help");
    check(&["help", "sessions", "list"], "zot sessions --help");
}

#[test]
fn a_typing_error_in_a_subcommand_is_recognised() {
    check(&["sesions"], "zot sessions");
    check(&["sesions", "list", "x"], "zot sessions list x");
    check(&["SESSIONS"], "zot sessions");
    check(&["lgoin", "openai"], "zot login openai");
    check(&["ogin"], "zot login");
    check(&["doctr"], "zot doctor");
    check(&["completoins"], "zot completions");
    check(&["rcp"], "zot rpc");
    check(&["rcp", "--jail"], "zot rpc --jail");
    check(&["exr"], "zot ext");
    check(&["mna", "ext"], "zot man ext");
}

#[test]
fn singular_and_plural_are_recognised() {
    check(&["session", "list"], "zot sessions list");
    check(&["skill"], "zot skills");
    check(&["exts", "list"], "zot ext list");
    check(&["completion", "bash"], "zot completions bash");
    check(&["cassettes"], "zot cassette");
}

#[test]
fn other_words_that_people_try_are_recognised_alone() {
    check(&["version"], "zot --version");
    check(&["models"], "zot --list-models");
    check(&["extensions"], "zot ext");
    assert_eq!(intended(&["models", "fail", "here"]), None);
}

#[test]
fn prompts_stay_prompts() {
    for line in [
        &[][..],
        &["hello"],
        &["help me with the sessions"],
        &["sesions list"],
        &["sessions are slow"],
        &["can", "you", "fix", "this"],
        &["main", "is", "broken"],
        &["run", "the", "tests"],
        &["test"],
        &["/review"],
        &["@a.txt"],
        &["-"],
        &[""],
    ] {
        assert_eq!(intended(line), None, "{line:?}");
    }
}
