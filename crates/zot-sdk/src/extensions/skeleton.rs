//! The files of a new extension, by language.

use super::create::{Foundation, Language};

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

/// A file of one of our SDKs, which is copied into the extension: extensions are installed by copying
/// their directory, so they have to hold what they need.
macro_rules! sdk_file {
    ($directory:literal, $sources:literal, $name:literal) => {
        text(
            concat!($directory, "/", $name),
            include_str!(concat!("../../../../sdk/", $sources, "/", $name)),
        )
    };
}

const PYTHON: &[Template] = &[
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
    sdk_file!("zot_ext", "python/zot_ext", "__init__.py"),
    sdk_file!("zot_ext", "python/zot_ext", "content.py"),
    sdk_file!("zot_ext", "python/zot_ext", "events.py"),
    sdk_file!("zot_ext", "python/zot_ext", "extension.py"),
    sdk_file!("zot_ext", "python/zot_ext", "py.typed"),
    sdk_file!("zot_ext", "python/zot_ext", "registry.py"),
    sdk_file!("zot_ext", "python/zot_ext", "responses.py"),
    sdk_file!("zot_ext", "python/zot_ext", "runtime.py"),
    sdk_file!("zot_ext", "python/zot_ext", "schema.py"),
    sdk_file!("zot_ext", "python/zot_ext", "testing.py"),
    sdk_file!("zot_ext", "python/zot_ext", "transport.py"),
    sdk_file!("zot_ext", "python/zot_ext", "verdicts.py"),
    sdk_file!("zot_ext", "python/zot_ext", "workers.py"),
];

const TYPESCRIPT: &[Template] = &[
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
    sdk_file!("zot-ext", "typescript/src", "connection.js"),
    sdk_file!("zot-ext", "typescript/src", "content.js"),
    sdk_file!("zot-ext", "typescript/src", "extension.js"),
    sdk_file!("zot-ext", "typescript/src", "frames.d.ts"),
    sdk_file!("zot-ext", "typescript/src", "host.js"),
    sdk_file!("zot-ext", "typescript/src", "index.d.ts"),
    sdk_file!("zot-ext", "typescript/src", "lines.js"),
    sdk_file!("zot-ext", "typescript/src", "main.js"),
    sdk_file!("zot-ext", "typescript/src", "queue.js"),
    sdk_file!("zot-ext", "typescript/src", "responses.js"),
    sdk_file!("zot-ext", "typescript/src", "schema-check.js"),
    sdk_file!("zot-ext", "typescript/src", "schema.d.ts"),
    sdk_file!("zot-ext", "typescript/src", "stdio.js"),
    sdk_file!("zot-ext", "typescript/src", "testing.d.ts"),
    sdk_file!("zot-ext", "typescript/src", "tools.d.ts"),
];

const PLAIN_PYTHON: &[Template] = &[
    text(
        "extension.json",
        include_str!("skeletons/python-plain/extension.json"),
    ),
    program("main.py", include_str!("skeletons/python-plain/main.py")),
    text(
        "test_main.py",
        include_str!("skeletons/python-plain/test_main.py"),
    ),
    text(
        "README.md",
        include_str!("skeletons/python-plain/README.md"),
    ),
];

const PLAIN_TYPESCRIPT: &[Template] = &[
    text(
        "extension.json",
        include_str!("skeletons/typescript-plain/extension.json"),
    ),
    text(
        "package.json",
        include_str!("skeletons/typescript-plain/package.json"),
    ),
    program(
        "main.js",
        include_str!("skeletons/typescript-plain/main.js"),
    ),
    text(
        "main.test.js",
        include_str!("skeletons/typescript-plain/main.test.js"),
    ),
    text(
        "README.md",
        include_str!("skeletons/typescript-plain/README.md"),
    ),
];

const SHELL: &[Template] = &[
    text(
        "extension.json",
        include_str!("skeletons/shell/extension.json"),
    ),
    program("main.sh", include_str!("skeletons/shell/main.sh")),
    program("test.sh", include_str!("skeletons/shell/test.sh")),
    text("README.md", include_str!("skeletons/shell/README.md")),
];

const RUST: &[Template] = &[
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
    foundation: Foundation,
}

impl<'a> Skeleton<'a> {
    pub(super) fn new(name: &'a str, language: Language, foundation: Foundation) -> Self {
        Self {
            name,
            language,
            foundation,
        }
    }

    /// Returns path, text and mode of each file.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, String, Mode)> {
        let templates = match (self.language, self.foundation) {
            (Language::Python, Foundation::Sdk) => PYTHON,
            (Language::Python, Foundation::Protocol) => PLAIN_PYTHON,
            (Language::TypeScript, Foundation::Sdk) => TYPESCRIPT,
            (Language::TypeScript, Foundation::Protocol) => PLAIN_TYPESCRIPT,
            (Language::Shell, _) => SHELL,
            (Language::Rust, _) => RUST,
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
