use super::{external_crates, problems};

const MANIFEST: &str = "[workspace]\nmembers = []\n\n[workspace.dependencies]\n\
    zot-wire = { path = \"crates/zot-wire\" }\n# why\nserde = \"1\"\n\
    tokio = { version = \"1\", features = [\n    \"rt\",\n] }\n\n[profile.dev]\nlto = true\n";

#[test]
fn our_own_crates_and_other_sections_do_not_count() {
    assert_eq!(external_crates(MANIFEST), ["serde", "tokio"]);
}

#[test]
fn a_crate_must_be_named_in_the_right_section() {
    let check = |architecture: &str, expected: usize| {
        assert_eq!(
            problems(MANIFEST, architecture).len(),
            expected,
            "{architecture}"
        );
    };
    check("# Dependencies\n| `serde` | x |\n| `tokio` | y |\n", 0);
    check(
        "# A\n## Dependencies\n### JSON\n`serde`\n### Async\n`tokio`\n# B\n",
        0,
    );
    check("# Dependencies\n`serde`\n# Other\n`tokio`\n", 1);
    check("# Dependencies\nserde, tokio-util\n", 2);
    check("", 2);
}
