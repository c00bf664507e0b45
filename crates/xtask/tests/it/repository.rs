//! The rules for every change.

use std::fs;

use serde_json::Value;
use xtask::repository::root;
use xtask::{dependencies, functions, layers, limits, links, protocol, schema, sources};

fn check(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn crates_depend_on_lower_layers_only() {
    check(layers::problems(&layers::members(&root()).unwrap()));
}

#[test]
fn no_source_file_is_too_long() {
    let sources = sources::source_files(&root()).unwrap();
    assert!(
        sources.iter().any(|path| path.ends_with(file!())),
        "this file was not found"
    );
    check(sources::problems(&root()).unwrap());
}

#[test]
fn no_function_is_too_long() {
    check(functions::problems(&root()).unwrap());
}

#[test]
fn untrusted_text_reaches_terminals_through_the_filter() {
    check(sources::printing_problems(&root()).unwrap());
}

#[test]
fn every_part_of_the_protocol_is_captured() {
    let captures = protocol::read_captures(&root()).unwrap();
    assert!(!captures.is_empty());
    check(protocol::problems(&zot_wire::rpc::json_schema(), &captures));
}

#[test]
fn the_committed_schemas_are_current() {
    for file in &schema::FILES {
        let committed = fs::read_to_string(root().join(file.path)).unwrap_or_default();
        let committed: Value = serde_json::from_str(&committed).unwrap_or_default();
        let current: Value = serde_json::from_str(&file.text().unwrap()).unwrap();
        assert!(
            committed == current,
            "run `cargo xtask schema` and commit {}",
            file.path
        );
    }
}

#[test]
fn the_table_of_limits_is_current() {
    let committed = fs::read_to_string(root().join(limits::DOCUMENT)).unwrap_or_default();
    assert!(
        committed == limits::document(&root()).unwrap(),
        "run `cargo xtask limits` and commit {}",
        limits::DOCUMENT
    );
}

#[test]
fn limits_have_descriptive_names() {
    check(limits::name_problems(&root()).unwrap());
}

#[test]
fn links_between_documents_are_valid() {
    check(links::problems(&root()).unwrap());
}

#[test]
fn every_dependency_is_justified() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(!dependencies::external_crates(&manifest).is_empty());
    if let Ok(architecture) = fs::read_to_string(root().join("ARCHITECTURE.md")) {
        check(dependencies::problems(&manifest, &architecture));
    }
}

/// A profile also inherits the lines of packages: one that `dist` does not repeat would be slow in
/// packages.
#[test]
fn dist_says_how_every_package_of_release_is_optimised() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let packages = |profile: &str| -> Vec<String> {
        let header = format!("[profile.{profile}.package]");
        let lines = manifest.lines().skip_while(|line| **line != header).skip(1);
        lines
            .map_while(|line| line.split_once(" = "))
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    let (release, dist) = (packages("release"), packages("dist"));
    assert!(!release.is_empty());
    check(
        release
            .into_iter()
            .filter(|name| !dist.contains(name))
            .collect(),
    );
}
