use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Validator, ValidatorError, find};
use crate::definitions::ExecutorDefinition;
use crate::executor::exposed::Reachable;

fn validated_by(name: &str) -> ExecutorDefinition {
    ExecutorDefinition {
        name: "bash".to_owned(),
        file_extension: ".sh".to_owned(),
        static_analysis: Some(name.to_owned()),
    }
}

fn program(path: &Path) -> String {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn with_a_sandbox_programs_cannot_choose_the_validator() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let inside = program(&root.join("work/checker"));
    let outside = program(&root.join("checker"));
    let reachable = [Reachable {
        key: "working_dir",
        directory: root.join("work"),
    }];
    let found = |name: &str, reachable| find(&validated_by(name), reachable);
    assert_eq!(
        found(&outside, &reachable),
        Ok(Validator::Program(outside.clone().into()))
    );
    assert_eq!(
        found(&inside, &reachable),
        Err(ValidatorError::Writable {
            executor: "bash".to_owned(),
            path: inside.clone(),
            directory: root.join("work"),
        })
    );
    for relative in ["./checker", "../checker", "work/checker"] {
        let refused = found(relative, &reachable);
        assert!(
            matches!(refused, Err(ValidatorError::Relative { .. })),
            "{relative}"
        );
    }
    assert!(matches!(
        found("sh", &reachable),
        Ok(Validator::Program(path)) if path.is_absolute()
    ));
    for none in ["", "no-such-checker", "/no/such/checker"] {
        assert_eq!(found(none, &reachable), Ok(Validator::None), "{none}");
    }
    // Without a sandbox they are found as in the original.
    assert_eq!(
        found(&inside, &[]),
        Ok(Validator::Program(inside.clone().into()))
    );
    assert_eq!(found("./no-such-checker", &[]), Ok(Validator::None));
}
