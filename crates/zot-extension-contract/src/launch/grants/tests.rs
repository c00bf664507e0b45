use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;
use crate::manifest::Manifest;

/// A `$ZOT_HOME` with an extension, and a project.
struct Scene {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let scene = Self {
            _directory: directory,
            root,
        };
        for path in ["outside", "project", "zot/extensions/x"] {
            fs::create_dir_all(scene.path(path)).unwrap();
        }
        fs::create_dir_all(scene.data_dir()).unwrap();
        scene
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn data_dir(&self) -> PathBuf {
        self.path("zot/extension-data/x")
    }

    fn grants(&self, permissions: serde_json::Value) -> Grants {
        self.grants_of(permissions, &self.path("zot/extensions/x"))
    }

    fn grants_of(&self, permissions: serde_json::Value, directory: &Path) -> Grants {
        let manifest = json!({"name": "x", "exec": "x", "permissions": permissions});
        let manifest = Manifest::parse(manifest.to_string().as_bytes()).unwrap();
        let places = Places {
            directory,
            data_dir: &self.data_dir(),
            cwd: &self.path("project"),
        };
        let permissions = manifest.permissions.as_ref().unwrap();
        grants(&places, permissions, Execution::Only(Vec::new())).unwrap()
    }

    /// Returns the writable paths besides the data directory.
    fn written(&self, permissions: serde_json::Value) -> Vec<PathBuf> {
        self.grants(permissions).files.write.split_off(1)
    }
}

#[track_caller]
fn refused(grants: &Grants, reason: &str) {
    assert_eq!(grants.files.write.len(), 1, "{:?}", grants.files.write);
    assert_eq!(grants.files.read.len(), 1, "{:?}", grants.files.read);
    let [refusal] = grants.refusals.as_slice() else {
        panic!("{:?}", grants.refusals);
    };
    assert!(refusal.contains(reason), "{refusal}");
}

#[test]
fn a_link_created_in_an_earlier_run_grants_nothing() {
    let scene = Scene::new();
    fs::create_dir(scene.data_dir().join("cache")).unwrap();
    let cache = json!({"fs_write": ["$DATA_DIR/cache"]});
    assert_eq!(
        scene.written(cache.clone()),
        [scene.data_dir().join("cache")]
    );

    fs::remove_dir(scene.data_dir().join("cache")).unwrap();
    symlink(scene.path("outside"), scene.data_dir().join("cache")).unwrap();
    refused(&scene.grants(cache), "is a link");
    refused(
        &scene.grants(json!({"fs_read": ["$DATA_DIR/cache"]})),
        "is a link",
    );
    let absolute = scene.data_dir().join("cache");
    refused(&scene.grants(json!({"fs_write": [absolute]})), "is a link");
}

#[test]
fn a_link_in_a_writable_directory_grants_nothing_below_the_same_base() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("project/a")).unwrap();
    fs::create_dir_all(scene.path("project/private")).unwrap();
    symlink(scene.path("project/private"), scene.path("project/a/b")).unwrap();
    let grants = scene.grants(json!({"fs_write": ["$CWD/a", "$CWD/a/b"]}));
    assert_eq!(grants.files.write[1..], [scene.path("project/a")]);
    assert!(
        grants.refusals[0].contains("is a link"),
        "{:?}",
        grants.refusals
    );
    // Through a link that the extension did not create.
    symlink(scene.path("project/a"), scene.path("through")).unwrap();
    let through = scene.path("through/b");
    let grants = scene.grants(json!({"fs_read": [through], "fs_write": ["$CWD/a"]}));
    assert_eq!(grants.files.read.len(), 1);
}

#[test]
fn links_stay_below_their_base() {
    let scene = Scene::new();
    fs::create_dir(scene.path("project/real")).unwrap();
    symlink("real", scene.path("project/inside")).unwrap();
    symlink("../outside", scene.path("project/leaving")).unwrap();
    let inside = json!({"fs_write": ["$CWD/inside"]});
    assert_eq!(scene.written(inside), [scene.path("project/real")]);
    let leaving = scene.grants(json!({"fs_write": ["$CWD/leaving"]}));
    refused(&leaving, "out of the directory");
    // A link in an absolute path is followed if the extension cannot have created it.
    symlink(scene.path("outside"), scene.path("alias")).unwrap();
    let alias = json!({"fs_write": [scene.path("alias")]});
    assert_eq!(scene.written(alias), [scene.path("outside")]);
}

#[test]
fn what_zot_loads_cannot_be_written() {
    let scene = Scene::new();
    for path in [
        "",
        "zot",
        "zot/extensions",
        "zot/extensions/x",
        "zot/extensions/y",
        "zot/interceptors",
        "zot/interceptors/x",
    ] {
        fs::create_dir_all(scene.path(path)).unwrap();
        let grants = scene.grants(json!({"fs_write": [scene.path(path)]}));
        refused(&grants, "name a narrower directory");
    }
    refused(
        &scene.grants(json!({"fs_write": ["/"]})),
        "name a narrower directory",
    );
    fs::create_dir_all(scene.path("project/.zot/extensions")).unwrap();
    for path in ["$CWD/.zot", "$CWD/.zot/extensions"] {
        let grants = scene.grants(json!({"fs_write": [path]}));
        refused(&grants, "name a narrower directory");
    }
    fs::create_dir_all(scene.path("project/src")).unwrap();
    let grants = scene.grants(json!({"fs_write": ["$CWD/src"]}));
    assert_eq!(grants.files.write[1..], [scene.path("project/src")]);
    assert!(!grants.includes_project_extensions);
}

#[test]
fn the_project_can_be_written_and_a_gap_is_reported() {
    let scene = Scene::new();
    let project = json!({"fs_write": ["$CWD"]});
    let grants = scene.grants(project.clone());
    assert_eq!(grants.files.write[1..], [scene.path("project")]);
    assert!(grants.includes_project_extensions);
    let own = scene.path("project/.zot/extensions/x");
    fs::create_dir_all(&own).unwrap();
    assert!(
        scene
            .grants_of(project.clone(), &own)
            .includes_project_extensions
    );
    let developed = scene.path("project/x");
    fs::create_dir_all(&developed).unwrap();
    let grants = scene.grants_of(project.clone(), &developed);
    refused(&grants, "the extension's own directory");

    let manifest = json!({"name": "x", "exec": "x", "permissions": project});
    let manifest = Manifest::parse(manifest.to_string().as_bytes()).unwrap();
    let stated = crate::launch::enforcement(&manifest).files.to_string();
    // Where there are namespaces, they are read-only.
    let is_reported = stated.contains(PROJECT_GAP) || stated.contains("not enforced");
    assert_eq!(is_reported, !zot_process::sandbox::has_views(), "{stated}");
}

#[test]
fn relative_programs_are_programs_in_the_extension() {
    let scene = Scene::new();
    let directory = scene.path("zot/extensions/x");
    let program = |path: &Path, mode: u32| {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    program(&directory.join("helper"), 0o755);
    program(&directory.join("text"), 0o644);
    program(&scene.path("outside/tool"), 0o755);
    symlink(scene.path("outside/tool"), directory.join("link")).unwrap();
    let grants = scene.grants(json!({
        "exec": ["git", "/bin/sh", "./helper", "./text", "./link", "../../../outside/tool", "./none"]
    }));
    let expected = [
        PathBuf::from("git"),
        "/bin/sh".into(),
        directory.join("helper"),
    ];
    assert_eq!(grants.files.execute, Execution::Only(expected.to_vec()));
    let refusals = grants.refusals.join("\n");
    for reason in [
        "./text is not granted: it is not an executable file",
        "./link is not granted: it leads out",
        "outside/tool is not granted: it leads out",
        "./none is not granted: it does not exist",
    ] {
        assert!(refusals.contains(reason), "{refusals}");
    }
}
