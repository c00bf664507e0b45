use super::{MAX_LINES, count_lines, problems};

#[test]
fn the_last_line_counts_with_and_without_a_line_feed() {
    for (content, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
        assert_eq!(count_lines(content.as_bytes()), lines, "{content:?}");
    }
}

#[test]
fn the_limit_is_inclusive_and_applies_to_sources_only() {
    let workdir = testkit::Workdir::new("sources");
    let (allowed, too_long) = ("x\n".repeat(MAX_LINES), "x\n".repeat(MAX_LINES + 1));
    workdir.write("crates/a/src/allowed.rs", &allowed);
    workdir.write("crates/a/src/long.rs", &too_long);
    workdir.write("sdk/python/long.py", &too_long);
    workdir.write("scripts/long", &too_long);
    workdir.write("README.md", &too_long);
    workdir.write("target/debug/long.rs", &too_long);
    workdir.write("sdk/typescript/node_modules/long.js", &too_long);
    let found = problems(&workdir.path()).unwrap();
    let files: Vec<&str> = found
        .iter()
        .filter_map(|complaint| complaint.split_once(" has 801 lines"))
        .map(|(file, _)| file)
        .collect();
    assert_eq!(
        files,
        ["crates/a/src/long.rs", "scripts/long", "sdk/python/long.py"]
    );
    assert_eq!(found.len(), files.len());
}
