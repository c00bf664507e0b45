use super::*;

fn extension(root: &Path, directory: &str, name: &str, more: &str) -> PathBuf {
    let directory = root.join(directory);
    fs::create_dir_all(&directory).unwrap();
    let manifest = format!(r#"{{"name":{name:?},"exec":"./run"{more}}}"#);
    fs::write(directory.join(MANIFEST_FILE), manifest).unwrap();
    directory
}

#[test]
fn the_first_of_a_name_wins() {
    let root = tempfile::tempdir().unwrap();
    let (project, global) = (root.path().join("project"), root.path().join("global"));
    let explicit = extension(root.path(), "work", "a", "");
    extension(&project, "a", "a", "");
    extension(&project, "b", "b", r#","enabled":false"#);
    extension(&global, "b", "b", "");
    extension(&global, "c", "c", "");
    let discovery = discover(&SearchPaths {
        explicit: vec![explicit.clone()],
        project: Some(project.clone()),
        global: Some(global),
        interceptors: Vec::new(),
    });
    assert_eq!(discovery.problems, []);
    let enabled: Vec<_> = discovery
        .enabled()
        .map(|found| (found.manifest.name.as_str(), found.source))
        .collect();
    assert_eq!(enabled, [("a", Source::CommandLine), ("c", Source::Global)]);
    let activations: Vec<_> = discovery
        .found
        .into_iter()
        .map(|found| found.activation)
        .collect();
    assert_eq!(activations[1], Activation::Shadowed { by: explicit });
    assert_eq!(activations[2], Activation::Disabled);
    // A disabled extension of the project shadows the user's, as an enabled one would.
    assert_eq!(
        activations[3],
        Activation::Shadowed {
            by: project.join("b")
        }
    );
}

#[test]
fn a_broken_manifest_is_reported_and_the_rest_is_found() {
    let root = tempfile::tempdir().unwrap();
    let global = root.path().join("global");
    extension(&global, "good", "good", "");
    let broken = extension(&global, "broken", "broken", "");
    fs::write(broken.join(MANIFEST_FILE), "{nope").unwrap();
    fs::create_dir(global.join("no-manifest")).unwrap();
    let discovery = discover(&SearchPaths {
        explicit: vec![root.path().join("missing")],
        project: None,
        global: Some(global),
        interceptors: Vec::new(),
    });
    assert_eq!(discovery.enabled().count(), 1);
    let [missing, bad] = discovery.problems.as_slice() else {
        panic!("{:?}", discovery.problems);
    };
    assert_eq!(missing.path, root.path().join("missing"));
    assert_eq!(bad.path, broken);
    assert!(bad.to_string().contains("parse manifest"), "{bad}");
}

#[test]
fn the_manifest_itself_may_be_named() {
    let root = tempfile::tempdir().unwrap();
    let directory = extension(root.path(), "x", "x", "");
    let discovery = discover(&SearchPaths {
        explicit: vec![directory.join(MANIFEST_FILE)],
        ..SearchPaths::default()
    });
    assert_eq!(discovery.found[0].directory, directory);
}

#[test]
fn a_project_does_not_switch_off_a_guard() {
    let root = tempfile::tempdir().unwrap();
    let (project, global) = (root.path().join("project"), root.path().join("global"));
    let block = r#","on_failure":"block""#;
    let decoy = extension(&project, "a", "guard", r#","enabled":false"#);
    let twin = extension(&project, "b", "guard", "");
    extension(&project, "off", "off", "");
    let guard = extension(&global, "guard", "guard", block);
    extension(
        &global,
        "off",
        "off",
        &format!(r#"{block},"enabled":false"#),
    );
    let paths = SearchPaths {
        explicit: Vec::new(),
        project: Some(project),
        global: Some(global),
        interceptors: Vec::new(),
    };
    let discovery = discover(&paths);
    let activation = |discovery: &Discovery, directory: &Path| {
        let mut found = discovery.found.iter();
        let found = found.find(|found| found.directory == directory).unwrap();
        found.activation.clone()
    };
    let by = |directory: &Path| Activation::Shadowed {
        by: directory.to_owned(),
    };
    assert_eq!(activation(&discovery, &guard), Activation::Enabled);
    assert_eq!(activation(&discovery, &decoy), by(&guard));
    assert_ne!(activation(&discovery, &twin), Activation::Enabled);
    let [problem] = discovery.problems.as_slice() else {
        panic!("{:?}", discovery.problems);
    };
    assert_eq!(problem.path, decoy);
    assert!(
        problem.to_string().contains("cannot be replaced"),
        "{problem}"
    );
    // A project may replace what the user has disabled.
    let enabled: Vec<&str> = discovery
        .enabled()
        .map(|found| found.manifest.name.as_str())
        .collect();
    assert_eq!(enabled, ["off", "guard"]);

    // What is named on the command line is the user's choice.
    let chosen = extension(root.path(), "chosen", "guard", "");
    let discovery = discover(&SearchPaths {
        explicit: vec![chosen.clone()],
        ..paths
    });
    assert_eq!(activation(&discovery, &chosen), Activation::Enabled);
    assert_eq!(activation(&discovery, &guard), by(&chosen));
}

#[test]
fn a_guard_does_not_shadow_itself() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("extensions");
    extension(&directory, "guard", "guard", r#","on_failure":"block""#);
    let alias = root.path().join("alias");
    std::os::unix::fs::symlink(&directory, &alias).unwrap();
    for project in [&directory, &alias] {
        let discovery = discover(&SearchPaths {
            explicit: Vec::new(),
            project: Some(project.clone()),
            global: Some(directory.clone()),
            interceptors: Vec::new(),
        });
        assert_eq!(discovery.problems, []);
        assert_eq!(discovery.enabled().count(), 1);
    }
}
