use super::summary;

#[test]
fn a_summary_counts_and_quotes() {
    let text = summary(
        "<conversation>\n[User]: list the files in src/lib.rs\n\n[Assistant]: I see.\nuser: now run it, e.g. `x.sh`.\n\
         usersays nothing\n[Tool]: done\n</conversation>\nSummarise the above for user: me",
    );
    assert!(text.contains("without a language model"), "{text}");
    assert!(text.contains("had 5 lines"), "{text}");
    assert!(
        text.contains(
            "(the last ones):\n- list the files in src/lib.rs\n- now run it, e.g. `x.sh`.\n\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("mentioned:\n- src/lib.rs\n- x.sh\n"),
        "{text}"
    );
    assert!(text.ends_with("It ended with:\n- [Tool]: done"), "{text}");
}

#[test]
fn a_summary_is_short_however_long_the_conversation() {
    let long = format!("<conversation>{}", "user: ä a/b.c\n".repeat(100_000));
    assert!(summary(&long).len() < 2_000);
    let one_line = format!("<conversation>user: {}", "ä".repeat(100_000));
    assert!(summary(&one_line).len() < 2_000);
    assert!(!summary("<conversation>").is_empty());
}
