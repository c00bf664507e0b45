use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use zot_process::sandbox::{Access, Rules};

use super::Plan;

#[test]
fn links_that_a_program_may_have_made_are_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    for name in ["work", "data/inner", "secret"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    symlink("../secret", root.join("work/planted")).unwrap();
    symlink("../secret", root.join("data/planted")).unwrap();
    symlink("data", root.join("link")).unwrap();
    let access = |path: PathBuf| {
        let plan = Plan {
            level: None,
            rules: Rules {
                read: vec![path],
                write: vec![root.join("data")],
                ..Rules::default()
            },
            directory: root.join("work"),
            directory_access: Access::Write,
        };
        plan.access().map_err(|error| error.to_string())
    };
    let granted = access(root.join("link/inner")).unwrap();
    assert_eq!(granted.read, [root.join("data/inner")]);
    for path in [
        PathBuf::from("planted"),
        root.join("data/planted"),
        root.join("link/planted"),
    ] {
        let refused = access(path).unwrap_err();
        assert!(refused.contains("is a link"), "{refused}");
    }
}
