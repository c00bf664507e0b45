//! Names the commit for `--version`, and tells the linker which functions of `zot` are to lie side by
//! side: `scripts/function-order` says why.

#[path = "../../packaging/build_info.rs"]
mod build_info;

use std::env;
use std::path::Path;

const ORDER: &str = "function-order.ld";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../packaging/build_info.rs");
    build_info::set_version();
    println!("cargo::rerun-if-changed={ORDER}");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|set| set == value);
    // Nobody measures a debug build.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") && !is_linker_chosen() {
        let directory = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let order = Path::new(&directory).join(ORDER);
        println!("cargo::rustc-link-arg-bin=zot=-T");
        println!("cargo::rustc-link-arg-bin=zot={}", order.display());
    }
}

/// The usual linkers (GNU ld, lld) take the order; others may not know such scripts.
fn is_linker_chosen() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    env::var_os("RUSTC_LINKER").is_some()
        || flags.contains("linker=")
        || flags.contains("-fuse-ld=")
}
