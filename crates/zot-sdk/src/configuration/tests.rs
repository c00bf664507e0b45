use std::fs;

use super::{ConfigFile, Origin, get, list, path, set, typed, unset};
use crate::Workspace;

#[test]
fn a_setting_is_changed_in_one_file_and_read_with_its_origin() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace {
        zot_home: directory.path().join("home"),
        cwd: directory.path().join("work"),
        user_home: None,
    };
    fs::create_dir_all(&workspace.zot_home).unwrap();
    fs::create_dir_all(&workspace.cwd).unwrap();
    assert_eq!(get(&workspace, "theme").unwrap().origin, Origin::Default);

    let changed = set(&workspace, ConfigFile::User, "tools", "read,bash").unwrap();
    let file = path(&workspace, ConfigFile::User);
    let shown = format!("tools = [\"read\",\"bash\"] ({})", file.display());
    assert_eq!(changed.to_string(), shown);
    set(&workspace, ConfigFile::Project, "tools", "read").unwrap();
    let setting = get(&workspace, "tools").unwrap();
    let project = path(&workspace, ConfigFile::Project);
    assert_eq!(setting.origin, Origin::Project(project));
    assert_eq!(typed(&setting.value.unwrap()), "read");

    unset(&workspace, ConfigFile::Project, "tools").unwrap();
    let setting = get(&workspace, "tools").unwrap();
    assert_eq!(setting.origin, Origin::User(file));
    assert_eq!(typed(&setting.value.unwrap()), "read,bash");
    let known = list(&workspace).unwrap().settings;
    assert!(known.len() > 10);
    assert!(get(&workspace, "tool").is_err());
}
