//! Names the commit for `--version`, and tells the linker which functions of `zot` are to lie side by
//! side: `scripts/function-order` says why.

#[path = "../../packaging/build_info.rs"]
mod build_info;

use std::env;
use std::path::Path;

const ORDER: &str = "function-order.ld";
/// The profile whose memory is measured; the names of functions are those it compiles.
const PROFILE: &str = "dist";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../packaging/build_info.rs");
    build_info::set_version();
    println!("cargo::rerun-if-changed={ORDER}");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|set| set == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is_profile(PROFILE) && !is_linker_chosen() {
        let directory = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let order = Path::new(&directory).join(ORDER);
        println!("cargo::rustc-link-arg-bin=zot=-T");
        println!("cargo::rustc-link-arg-bin=zot={}", order.display());
    }
}

/// `PROFILE` names only what a profile inherits from, so this reads `target/PROFILE/build/...`.
fn is_profile(name: &str) -> bool {
    env::var("OUT_DIR").is_ok_and(|path| {
        let mut directories = Path::new(&path).iter().rev();
        directories.find(|part| *part == "build").is_some()
            && directories.next().is_some_and(|part| part == name)
    })
}

/// The usual linkers (GNU ld, lld) take the order; others may not know such scripts.
fn is_linker_chosen() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    env::var_os("RUSTC_LINKER").is_some()
        || flags.contains("linker=")
        || flags.contains("-fuse-ld=")
}
