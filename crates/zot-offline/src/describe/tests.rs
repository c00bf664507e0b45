use super::{describe, extension_of_language};

#[test]
fn source_is_described_by_comment_and_definitions() {
    for (path, text, expected) in [
        (
            "src/lib.rs",
            "//! Adds numbers.\n//! Quickly.\n\npub fn add() {}\nimpl X {\n    pub(crate) async fn more<T>() {}\n}\n",
            "src/lib.rs is a Rust file of 7 lines. It opens with: \"Adds numbers. Quickly.\". \
             I see 2 definitions: add, more.",
        ),
        (
            "tool.py",
            "#!/usr/bin/env python3\n\"\"\"A tool.\"\"\"\nclass Tool:\n    def run(self):\n        pass\n",
            "tool.py is a Python file of 5 lines. It opens with: \"A tool.\". I see 2 definitions: Tool, run.",
        ),
        (
            "main.go",
            "package main\nfunc main() {}\nfunc (s *Server) Serve() {}\n",
            "main.go is a Go file of 3 lines. It opens with: \"package main\". I see 2 definitions: main, Serve.",
        ),
        (
            "x.sh",
            "# Builds.\nbuild() {\n  make\n}\n",
            "x.sh is a shell file of 4 lines. It opens with: \"Builds.\". I see 1 definitions: build.",
        ),
        (
            "README.md",
            "# Title\n\ntext\n## Use\n",
            "README.md is a Markdown file of 4 lines. It opens with: \"# Title\". I see 2 headings: Title, Use.",
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"x\"\n[[bin]]\n",
            "Cargo.toml is a TOML file of 3 lines. It opens with: \"[package]\". I see 2 sections: package, bin.",
        ),
        (
            "data",
            "zzz",
            "data is a file of a kind I do not know, with 1 line. It opens with: \"zzz\".",
        ),
        ("empty.txt", "", "empty.txt is a text file of 0 lines."),
    ] {
        assert_eq!(
            describe(path, text),
            expected.replace("1 definitions", "1 definition")
        );
    }
}

#[test]
fn long_lists_are_cut() {
    let text: String = (0..20).map(|n| format!("fn f{n}() {{}}\n")).collect();
    let description = describe("a.rs", &text);
    assert!(
        description.contains("20 definitions: f0, f1,"),
        "{description}"
    );
    assert!(description.ends_with("f7 and 12 more."), "{description}");
}

#[test]
fn languages_have_extensions() {
    assert_eq!(extension_of_language("Rust"), Some("rs"));
    assert_eq!(extension_of_language("PYTHON"), Some("py"));
    assert_eq!(extension_of_language("klingon"), None);
}
