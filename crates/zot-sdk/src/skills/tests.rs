use std::fs;

use super::{CreateError, ShowError, SkillHome, create, list, show};
use crate::Workspace;

#[test]
fn a_created_skill_is_found_and_not_created_twice() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace {
        zot_home: directory.path().join("home"),
        cwd: directory.path().join("work"),
        user_home: None,
    };
    fs::create_dir_all(&workspace.cwd).unwrap();
    let made = create(
        &workspace,
        SkillHome::Project,
        "deploy",
        Some("How to: \"deploy\""),
    )
    .unwrap();
    assert_eq!(made.path, workspace.cwd.join(".zot/skills/deploy/SKILL.md"));
    let shown = show(&workspace, "deploy").unwrap();
    assert_eq!(shown.skill.description, "How to: \"deploy\"");
    assert!(shown.body.contains("How to tell that it worked"));
    let again = create(&workspace, SkillHome::Project, "deploy", None);
    assert!(matches!(again, Err(CreateError::Exists(_))));
    assert!(matches!(
        create(&workspace, SkillHome::User, "../up", None),
        Err(CreateError::Name(_))
    ));

    fs::write(&made.path, "no front matter").unwrap();
    assert!(matches!(
        show(&workspace, "deploy"),
        Err(ShowError::Broken(_))
    ));
    assert_eq!(list(&workspace).problems.len(), 1);
    match show(&workspace, "no-such-skill") {
        Err(ShowError::Unknown { known, .. }) => assert!(!known.contains(&"deploy".to_owned())),
        other => panic!("{other:?}"),
    }
}
