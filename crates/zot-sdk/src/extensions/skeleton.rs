//! The files of a new extension, by language.

use super::create::Language;

/// Whether a file is executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Text,
    Program,
}

struct Template {
    path: &'static str,
    text: &'static str,
    mode: Mode,
}

const fn text(path: &'static str, text: &'static str) -> Template {
    let mode = Mode::Text;
    Template { path, text, mode }
}

const fn program(path: &'static str, text: &'static str) -> Template {
    let mode = Mode::Program;
    Template { path, text, mode }
}

const PYTHON: [Template; 4] = [
    text(
        "extension.json",
        include_str!("skeletons/python/extension.json"),
    ),
    program("main.py", include_str!("skeletons/python/main.py")),
    text(
        "test_main.py",
        include_str!("skeletons/python/test_main.py"),
    ),
    text("README.md", include_str!("skeletons/python/README.md")),
];

const TYPESCRIPT: [Template; 5] = [
    text(
        "extension.json",
        include_str!("skeletons/typescript/extension.json"),
    ),
    text(
        "package.json",
        include_str!("skeletons/typescript/package.json"),
    ),
    program("main.js", include_str!("skeletons/typescript/main.js")),
    text(
        "main.test.js",
        include_str!("skeletons/typescript/main.test.js"),
    ),
    text("README.md", include_str!("skeletons/typescript/README.md")),
];

const SHELL: [Template; 4] = [
    text(
        "extension.json",
        include_str!("skeletons/shell/extension.json"),
    ),
    program("main.sh", include_str!("skeletons/shell/main.sh")),
    program("test.sh", include_str!("skeletons/shell/test.sh")),
    text("README.md", include_str!("skeletons/shell/README.md")),
];

const RUST: [Template; 6] = [
    text(
        "extension.json",
        include_str!("skeletons/rust/extension.json"),
    ),
    text(
        "Cargo.toml",
        include_str!("skeletons/rust/Cargo.toml.template"),
    ),
    text("src/main.rs", include_str!("skeletons/rust/main.rs")),
    text("tests/talk.rs", include_str!("skeletons/rust/talk.rs")),
    text("README.md", include_str!("skeletons/rust/README.md")),
    text(".gitignore", "/target\n"),
];

/// The content of a new extension.
pub(super) struct Skeleton<'a> {
    name: &'a str,
    language: Language,
}

impl<'a> Skeleton<'a> {
    pub(super) fn new(name: &'a str, language: Language) -> Self {
        Self { name, language }
    }

    /// Returns path, text and mode of each file.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, String, Mode)> {
        let templates: &'static [Template] = match self.language {
            Language::Python => &PYTHON,
            Language::TypeScript => &TYPESCRIPT,
            Language::Shell => &SHELL,
            Language::Rust => &RUST,
        };
        let (name, word, package) = (self.name.to_owned(), self.word(), self.package());
        templates.iter().map(move |template| {
            let text = template
                .text
                .replace("{{name}}", &name)
                .replace("{{word}}", &word)
                .replace("{{package}}", &package);
            (template.path, text, template.mode)
        })
    }

    /// Returns commands to run next; DIR is a placeholder for the directory.
    pub(super) fn next_steps(&self) -> Vec<&'static str> {
        let (build, test) = match self.language {
            Language::Python => (None, "(cd DIR && python3 -m unittest)"),
            Language::TypeScript => (None, "(cd DIR && node --test)"),
            Language::Shell => (None, "DIR/test.sh"),
            Language::Rust => (
                Some("(cd DIR && cargo build --release)"),
                "(cd DIR && cargo test)",
            ),
        };
        let mut steps: Vec<&str> = build.into_iter().collect();
        steps.extend([
            test,
            "zot ext test DIR",
            "zot ext dev DIR",
            "zot ext install DIR",
        ]);
        steps
    }

    /// Returns the name in the form that commands and tools allow.
    fn word(&self) -> String {
        let word = self.name.chars().map(|character| match character {
            character if character.is_ascii_alphanumeric() || "-_".contains(character) => character,
            _ => '_',
        });
        // The tool's name, at most 64 characters, needs six more.
        word.take(58).collect()
    }

    /// Returns the name in the form that Cargo allows.
    fn package(&self) -> String {
        let word = self.word().to_ascii_lowercase();
        match word.starts_with(|first: char| first.is_ascii_alphabetic()) {
            true => word,
            false => format!("ext-{word}"),
        }
    }
}
