use std::fs;

use super::*;

#[test]
fn what_variables_lead_to_is_found_once() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let home = root.join("home");
    for name in [
        "home/.cargo/bin",
        "home/.npm",
        "elsewhere/rustup",
        "elsewhere/cargo/bin",
        "elsewhere/cargo/registry",
        "elsewhere/cargo/credentials",
    ] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    let found = |cargo: &Path| {
        installed_tools(&home, |name| match name {
            "CARGO_HOME" => Some(cargo.into()),
            "RUSTUP_HOME" => Some(root.join("elsewhere/rustup").into()),
            // Never the home directory itself.
            "JAVA_HOME" => Some(home.clone().into()),
            _ => None,
        })
    };
    let rustup = root.join("elsewhere/rustup");
    let usual = InstalledTools {
        toolchains: vec![home.join(".cargo/bin"), rustup.clone()],
        caches: vec![home.join(".npm")],
    };
    assert_eq!(found(&home.join(".cargo")), usual);
    let elsewhere = root.join("elsewhere/cargo");
    let expected = [
        home.join(".cargo/bin"),
        elsewhere.join("bin"),
        elsewhere.join("registry"),
        rustup,
    ];
    assert_eq!(found(&elsewhere).toolchains, expected);
}
