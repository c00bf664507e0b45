//! What commands need of the user's home directory at the levels that hide the rest of it.

/// Readable below the home directory, if present: programs that users install there, their
/// libraries, and the packages they have fetched. No file in this list holds a password.
pub const TOOLCHAINS: [&str; 34] = [
    // Rust.
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/config",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    // JavaScript.
    ".bun/bin",
    ".deno/bin",
    ".fnm",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".npm",
    ".nvm",
    ".volta",
    ".yarn",
    // Python.
    ".cache/pip",
    ".cache/uv",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".pyenv",
    // Others.
    ".asdf",
    ".cache/go-build",
    ".gradle/wrapper",
    ".local/share/mise",
    ".m2/repository",
    ".rbenv",
    ".rvm",
    ".sdkman",
    "go/bin",
    "go/pkg",
    // The name and address that commits need.
    ".config/git",
    ".gitconfig",
];
