use super::value::Constants;
use super::{constants_of, document, problems};

fn check_value(name: &str, expression: &str, expected: &str) {
    let constants = Constants::new([("BASE_BYTES", "2 * 1024"), ("LOOP", "LOOP + 1")].into_iter());
    let shown = constants.shown(name, expression);
    assert_eq!(shown.as_deref(), Ok(expected), "{name} = {expression}");
}

#[test]
fn values_are_shown_in_the_unit_of_their_name() {
    check_value("MAX_FRAME_BYTES", "64 * 1024 * 1024", "64 MiB");
    check_value("MAX_FRAME_BYTES", "4 << 30", "4 GiB");
    check_value("MAX_FRAME_BYTES", "100_000", "100,000 bytes");
    check_value(
        "MAX_FRAME_BYTES",
        "3 * zot_wire::BASE_BYTES as u64",
        "6 KiB",
    );
    check_value("BURST_BYTES_PER_SECOND", "64.0 * 1024.0", "64 KiB/s");
    check_value("FRAMES_PER_SECOND", "5_000", "5,000/s");
    check_value("STALL_TIME", "Duration::from_secs(6 * 60 * 60)", "6 h");
    check_value("STALL_TIME", "Duration::from_secs(60)", "60 s");
    check_value("STALL_TIME", "Duration::from_secs(300)", "5 min");
    check_value("STALL_TIME", "Duration::from_millis(1_500)", "1.5 s");
    check_value("STALL_TIME", "Duration::from_millis(25)", "25 ms");
    check_value(
        "STALL_TIME",
        "Timespec {tv_sec: 0,tv_nsec: 2_000_000,}",
        "2 ms",
    );
    check_value(
        "DELAYS",
        "[Duration::from_secs(1),Duration::from_secs(2),]",
        "1 s, 2 s",
    );
    check_value("COMPACT_AT_PERCENT", "85", "85 %");
    check_value("NOTICE_DAYS", "60", "60 days");
    check_value("MAX_PIXELS", "(1 + 2) * 1_000_000 - 10 / 5", "2,999,998");
}

#[test]
fn a_value_that_cannot_be_computed_is_an_error() {
    let constants = Constants::new([("LOOP", "LOOP + 1")].into_iter());
    for expression in ["LOOP", "unknown()", "1 +", "Duration::from_secs(1) * 2"] {
        assert!(constants.shown("X", expression).is_err(), "{expression}");
    }
}

const SOURCE: &str = "
/// The longest line.
///
/// Limit: the line is refused,
/// and reading continues.
pub(crate) const MAX_LINE_BYTES: usize =
    4 * 1024;

/// Not a limit.
const CHUNK_BYTES: usize = 10;
const NAMES: [&str; 2] = [\"a\", \"b\"];
pub const fn new() -> Self {}
/// Limit: what comes after them is left out.
const DELAYS: [Duration; 2] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
];
";

#[test]
fn constants_are_read_with_their_documentation() {
    let found: Vec<_> = constants_of("a", "crates/a/src/lib.rs", SOURCE)
        .into_iter()
        .map(|constant| (constant.name, constant.expression, constant.consequence))
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        found,
        [
            (
                text("MAX_LINE_BYTES"),
                text("4 * 1024"),
                Some(text("the line is refused, and reading continues"))
            ),
            (text("CHUNK_BYTES"), text("10"), None),
            (
                text("DELAYS"),
                text("[Duration::from_secs(1),Duration::from_secs(2),]"),
                Some(text("what comes after them is left out"))
            ),
        ]
    );
}

#[test]
fn the_table_lists_limits_of_programs_but_not_of_tests() {
    let workdir = testkit::Workdir::new("limits");
    workdir.write("crates/b/src/lib.rs", SOURCE);
    workdir.write("crates/b/src/lib/tests.rs", SOURCE);
    workdir.write("crates/b/tests/it/main.rs", SOURCE);
    workdir.write(
        "crates/a/assets/page.js",
        "// Limit: the page ignores it.\nexport const MAX_LOG_BYTES = 2 * 1024;\n",
    );
    let document = document(&workdir.path()).unwrap();
    let rows: Vec<&str> = document
        .lines()
        .filter(|line| line.starts_with("## ") || line.starts_with("| `"))
        .collect();
    assert_eq!(
        rows,
        [
            "## a",
            "| `MAX_LOG_BYTES` | 2 KiB | the page ignores it |",
            "## b",
            "| `DELAYS` | 1 s, 2 s | what comes after them is left out |",
            "| `MAX_LINE_BYTES` | 4 KiB | the line is refused, and reading continues |",
        ]
    );
}

#[test]
fn vague_and_duplicate_names_are_reported() {
    let mut constants = constants_of(
        "a",
        "a.rs",
        "const MAX_FILE_BYTES: u64 = 1;\nconst PATIENCE: Duration = X;\nconst MAX_THEME_BYTES: u8 = 1;",
    );
    constants.extend(constants_of(
        "b",
        "b.rs",
        "const MAX_THEME_BYTES: u8 = 1;\nconst CHUNK_BYTES: u8 = 1;",
    ));
    constants.extend(constants_of("c", "c.rs", "const CHUNK_BYTES: u8 = 1;"));
    assert_eq!(
        problems(&constants),
        [
            "a.rs: MAX_FILE_BYTES does not say what it limits",
            "a.rs: PATIENCE does not say what it limits",
            "MAX_THEME_BYTES is defined in a.rs, b.rs: use one constant, or names that differ",
        ]
    );
}
