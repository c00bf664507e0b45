//! What commands need of the user's home directory at the levels that hide the rest of it.

/// Readable below the home directory, if present: programs that users install there, and their
/// libraries. A token that somebody wrote into the configuration of cargo or git can be read.
pub const TOOLCHAINS: [&str; 28] = [
    // Rust.
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/config",
    ".cargo/env",
    ".rustup",
    // JavaScript.
    ".bun/bin",
    ".deno/bin",
    ".fnm",
    ".local/share/fnm",
    ".nvm",
    ".volta",
    // Python.
    ".local/bin",
    ".local/lib",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".pyenv",
    // Others.
    ".asdf",
    ".gradle/wrapper",
    ".local/share/mise",
    ".rbenv",
    ".rvm",
    ".sdkman",
    "go/bin",
    ".opam",
    // The name and address that commits need.
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".gitconfig",
];

/// Packages that were fetched. Where namespaces can show them so, a child may change them, and the
/// changes last as long as the sandbox; elsewhere they can only be read.
pub const CACHES: [&str; 11] = [
    ".cache/go-build",
    ".cache/pip",
    ".cache/uv",
    ".cargo/git",
    ".cargo/registry",
    ".local/share/pnpm",
    ".m2/repository",
    ".npm",
    ".yarn",
    ".bun/install",
    "go/pkg",
];

/// Variables that name the places of toolchains, and what is readable there; an empty name is all of it.
pub(super) const TOOLCHAIN_VARIABLES: [(&str, &[&str]); 6] = [
    (
        "CARGO_HOME",
        &["bin", "config.toml", "env", "git", "registry"],
    ),
    ("RUSTUP_HOME", &[""]),
    ("NVM_DIR", &[""]),
    ("PYENV_ROOT", &[""]),
    ("VIRTUAL_ENV", &[""]),
    ("JAVA_HOME", &[""]),
];
