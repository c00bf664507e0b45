//! A project's `.mcp.json` starts nothing before it is approved.

use std::path::Path;

use super::Bench;

/// A project whose server leaves a file when it is started.
fn trap(bench: &Bench) -> std::path::PathBuf {
    let trace = bench.0.path().join("started");
    let text = format!(
        r#"{{"mcpServers": {{"trap": {{"command": "sh", "args": ["-c", "touch '{}'; exec cat"]}}}}}}"#,
        trace.display()
    );
    bench.0.write(".mcp.json", text);
    trace
}

#[test]
fn nothing_starts_before_the_approval() {
    let bench = Bench::new();
    let trace = trap(&bench);
    for arguments in [&["list", "--timeout", "2"][..], &["get", "trap"], &[]] {
        let ended = bench.run(arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(
            ended.stdout.contains("not approved"),
            "{arguments:?}: {}",
            ended.stdout
        );
    }
    assert!(bench.run(&["list"]).stderr.contains("zot mcp approve"));
    // A script cannot approve by accident.
    let ended = bench.run(&["approve"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("--yes"), "{}", ended.stderr);
    assert!(ended.stdout.contains("touch"), "{}", ended.stdout);
    assert!(!trace.exists());

    bench.succeed(&["approve", "--yes"]);
    assert!(bench.succeed(&["list", "--no-start"]).contains("enabled"));
    assert!(bench.succeed(&["approve"]).contains("approved already"));
    assert!(!trace.exists(), "approving starts nothing");

    // Another content is another question.
    bench
        .0
        .write(".mcp.json", bench.0.read(".mcp.json").unwrap() + "\n");
    assert!(
        bench
            .succeed(&["list", "--no-start"])
            .contains("not approved")
    );
    bench.succeed(&["approve", "--yes"]);
    assert!(
        bench
            .succeed(&["reset-project-choices"])
            .contains("asked again")
    );
    assert!(
        bench
            .succeed(&["list", "--no-start"])
            .contains("not approved")
    );
    assert!(!trace.exists());
}

#[test]
fn what_the_user_adds_is_approved_but_not_what_was_there() {
    let bench = Bench::new();
    bench.succeed(&["add", "-s", "project", "mine", "true"]);
    bench.succeed(&["add", "-s", "project", "more", "true"]);
    let list = bench.succeed(&["list", "--no-start"]);
    assert_eq!(list.matches("enabled").count(), 2, "{list}");

    let bench = Bench::new();
    trap(&bench);
    bench.succeed(&["add", "-s", "project", "mine", "true"]);
    let list = bench.succeed(&["list", "--no-start"]);
    assert_eq!(list.matches("not approved").count(), 2, "{list}");
}

#[test]
fn a_copy_elsewhere_is_not_approved() {
    let bench = Bench::new();
    trap(&bench);
    bench.succeed(&["approve", "--yes"]);
    let text = bench.0.read(".mcp.json").unwrap();
    bench.0.write("sub/.mcp.json", text);
    let in_sub = |path: &Path| {
        let mut command = bench.command(&["list", "--no-start"]).into_command();
        let output = command.current_dir(path).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(in_sub(&bench.0.path().join("sub")).contains("not approved"));
    assert!(!in_sub(&bench.0.path()).contains("not approved"));
}

#[test]
fn nothing_to_approve_is_said() {
    let bench = Bench::new();
    assert!(
        bench
            .fail(1, &["approve", "--yes"])
            .contains("no .mcp.json")
    );
    assert!(
        bench
            .succeed(&["reset-project-choices"])
            .contains("nothing")
    );
}
