use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::io::AsyncReadExt as _;
use zot_process::launch::{Status, enforceable};
use zot_process::sandbox::Level;

use crate::launch::{LaunchError, LaunchRules, ProgramLaunch, start_program};

/// A workspace with a virtual environment in `PATH`, and a directory of the user behind it.
struct Scene {
    _directory: tempfile::TempDir,
    confines_commands: bool,
    root: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let scene = Self {
            _directory: directory,
            confines_commands: true,
            root,
        };
        scene.program("workspace/.venv/bin/python", "of the project");
        scene.program("user/python", "the user's");
        scene.program("workspace/.venv/bin/other", "planted");
        scene.program("user/server", "the user's");
        scene
    }

    fn program(&self, path: &str, prints: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho \"{prints}, $PATH\"\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn search_path(&self) -> String {
        let root = self.root.display();
        format!("{root}/workspace/.venv/bin:{root}/user:/usr/bin:/bin")
    }

    async fn start(
        &self,
        program: &str,
        cwd: &Path,
        sandbox: Option<Level>,
    ) -> Result<String, LaunchError> {
        let env = BTreeMap::from([("PATH".to_owned(), self.search_path())]);
        let mut process = start_program(&ProgramLaunch {
            name: "MCP server x".to_owned(),
            program,
            args: &[],
            env: &env,
            cwd,
            workspaces: &[self.root.join("workspace")],
            data_dir: &self.root.join("data"),
            sandbox,
            permissions: None,
            project: None,
            rules: &LaunchRules {
                confines_commands: self.confines_commands,
                ..LaunchRules::default()
            },
        })?;
        drop(process.stdin);
        let mut printed = String::new();
        process.stdout.read_to_string(&mut printed).await.unwrap();
        process.group.close().await;
        Ok(printed)
    }
}

#[tokio::test]
async fn a_name_is_not_looked_up_where_confined_commands_can_write() {
    let scene = Scene::new();
    let path = scene.search_path();
    // Wherever it runs, and with the whole `PATH`.
    for cwd in ["workspace", "user"] {
        let printed = scene.start("server", &scene.root.join(cwd), None).await;
        assert_eq!(printed.unwrap(), format!("the user's, {path}\n"), "{cwd}");
    }
    let workspace = scene.root.join("workspace");
    let error = scene.start("other", &workspace, None).await.unwrap_err();
    let found = workspace.join(".venv/bin/other");
    let expected = format!("other is {} in PATH", found.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    // Another one than a shell would find must not be started silently.
    let error = scene.start("python", &workspace, None).await.unwrap_err();
    assert!(matches!(error, LaunchError::InsideWorkspace { .. }));
    let error = scene.start("nowhere", &workspace, None).await.unwrap_err();
    let expected = "nowhere is not in PATH: install it, or give its path";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn without_confined_commands_programs_are_found_as_a_shell_does() {
    let mut scene = Scene::new();
    scene.confines_commands = false;
    let workspace = scene.root.join("workspace");
    for (program, expected) in [
        ("python", "of the project, "),
        ("other", "planted, "),
        ("server", "the user's, "),
    ] {
        let printed = scene.start(program, &workspace, None).await.unwrap();
        assert!(printed.starts_with(expected), "{program}: {printed}");
    }
}

#[tokio::test]
async fn a_path_leads_into_the_workspace() {
    let scene = Scene::new();
    let workspace = scene.root.join("workspace");
    let absolute = workspace.join(".venv/bin/other");
    for program in [".venv/bin/other", absolute.to_str().unwrap()] {
        let printed = scene.start(program, &workspace, None).await.unwrap();
        assert!(printed.starts_with("planted, "), "{program}: {printed}");
    }
}

#[tokio::test]
async fn a_confined_program_may_come_from_the_workspace() {
    if let Status::NotEnforced(reason) = enforceable().files {
        testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
        return;
    }
    let scene = Scene::new();
    let workspace = scene.root.join("workspace");
    let level = Some(Level::Workspace);
    let printed = scene.start("other", &workspace, level).await.unwrap();
    assert!(printed.starts_with("planted, "), "{printed}");
}
