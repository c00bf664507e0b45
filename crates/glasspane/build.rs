//! Names the commit for `--version`.

#[path = "../../packaging/build_info.rs"]
mod build_info;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../packaging/build_info.rs");
    build_info::set_version();
}
