//! With real processes: what they can do at each level, and with each permission.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use zot_process::launch::{Enforcement, Status, enforceable};
use zot_process::sandbox::Level;
use zot_process::sandbox::record::{RecordedContact, network_log_path};

use super::Wanted;
use crate::launch::{LaunchError, LaunchRules, ProgramLaunch, program_data_dir, start_program};
use crate::manifest::Permissions;

/// A variable that tests have, in the place of a key.
const KEY: &str = "CARGO_PKG_NAME";

/// A project and a `$ZOT_HOME`, with a program that tries things.
struct Scene {
    _directory: tempfile::TempDir,
    root: PathBuf,
    sandbox: Option<Level>,
    permissions: Option<Permissions>,
    minimum: Level,
    is_from_project: bool,
    env: BTreeMap<String, String>,
    zot_home: &'static str,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in ["project", "outside", "zot"] {
            fs::create_dir(root.join(path)).unwrap();
        }
        Self {
            _directory: directory,
            root,
            sandbox: None,
            permissions: None,
            minimum: Level::Off,
            is_from_project: false,
            env: BTreeMap::new(),
            zot_home: "zot",
        }
    }

    fn sandboxed(level: Level) -> Self {
        Self {
            sandbox: Some(level),
            ..Self::new()
        }
    }

    fn permitted(permissions: Value) -> Self {
        let permissions: Permissions = serde_json::from_value(permissions).unwrap();
        permissions.check().unwrap();
        Self {
            permissions: Some(permissions),
            ..Self::new()
        }
    }

    fn data_dir(&self) -> PathBuf {
        program_data_dir(&self.root.join(self.zot_home), "test", "x")
    }

    /// Runs a shell script with `$ROOT` set; returns what it prints, and the shortfalls and remarks.
    async fn run(&self, script: &str) -> (String, Vec<String>) {
        let rules = LaunchRules {
            minimum: self.minimum,
            withheld: vec![KEY.to_owned()],
            zot_home: Some(self.root.join(self.zot_home)),
            ..LaunchRules::default()
        };
        let mut env = self.env.clone();
        env.insert("ROOT".to_owned(), self.root.display().to_string());
        let data_dir = self.data_dir();
        env.insert("DATA".to_owned(), data_dir.display().to_string());
        let project = self.root.join("project");
        let launch = ProgramLaunch {
            name: "MCP server x".to_owned(),
            program: "/bin/sh",
            args: &["-c".to_owned(), format!("{{ {script}; }} 2>&1")],
            env: &env,
            cwd: &project,
            workspaces: &[],
            data_dir: &data_dir,
            sandbox: self.sandbox,
            permissions: self.permissions.as_ref(),
            project: self.is_from_project.then_some(&*project),
            rules: &rules,
        };
        let mut process = start_program(&launch).unwrap();
        drop(process.stdin);
        let mut printed = String::new();
        process.stdout.read_to_string(&mut printed).await.unwrap();
        process.group.close().await;
        let remarks = process.sandbox.remarks().into_iter();
        process.shortfalls.extend(remarks.map(|remark| remark.text));
        (printed, process.shortfalls)
    }

    /// Returns whether it can write to `path`, with the builtins of a shell.
    async fn writes(&self, path: &str) -> bool {
        let (printed, _) = self.run(&format!("echo x > {path} && echo done")).await;
        printed.ends_with("done\n")
    }
}

/// Whether this system confines at all; otherwise there is nothing to test.
fn confines() -> bool {
    match enforceable().files {
        Status::NotEnforced(reason) => {
            testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
            false
        }
        _ => true,
    }
}

#[tokio::test]
async fn off_withholds_keys_and_nothing_else() {
    let mut scene = Scene::new();
    let shown = format!("echo \"${{{KEY}-none}} ${{CARGO_MANIFEST_DIR-none}}\"");
    let here = env!("CARGO_MANIFEST_DIR");
    assert_eq!(scene.run(&shown).await.0, format!("none {here}\n"));
    assert!(scene.writes("$ROOT/outside/new").await);
    // Unless they are named, with a value or without.
    scene.env.insert(KEY.to_owned(), "given".to_owned());
    assert_eq!(scene.run(&shown).await.0, format!("given {here}\n"));
    let mut listed = Scene::permitted(json!({"env": [KEY]}));
    listed.sandbox = Some(Level::Off);
    let own = env!("CARGO_PKG_NAME");
    assert_eq!(listed.run(&shown).await.0, format!("{own} {here}\n"));
    assert!(listed.writes("$ROOT/outside/new").await);
    assert!(!listed.data_dir().exists());
}

/// As when zot is started in the home directory.
#[tokio::test]
async fn the_keys_of_zot_in_the_working_directory_cannot_be_read() {
    if !confines() || !zot_process::sandbox::has_views() {
        return;
    }
    for mut scene in [
        Scene::sandboxed(Level::Workspace),
        Scene::sandboxed(Level::ReadOnly),
        Scene::permitted(json!({"fs_read": ["$CWD"]})),
    ] {
        for zot_home in ["project/.zot", "project/zot-home"] {
            scene.zot_home = zot_home;
            fs::create_dir(scene.root.join(zot_home)).unwrap();
            fs::write(scene.root.join(zot_home).join("auth.json"), "key").unwrap();
            fs::write(scene.root.join("project/note"), "note ").unwrap();
            let script = format!(
                "read a < $ROOT/project/note; echo \"$a\"; read b < $ROOT/{zot_home}/auth.json; echo \"$b\""
            );
            let (printed, _) = scene.run(&script).await;
            assert!(printed.starts_with("note"), "{printed}");
            assert!(!printed.contains("key"), "{printed}");
            assert!(scene.writes("$DATA/new").await);
        }
    }
}

#[tokio::test]
async fn permissions_are_all_there_is() {
    if !confines() {
        return;
    }
    let scene = Scene::permitted(json!({}));
    let shown = format!("echo \"${{{KEY}-none}} ${{CARGO_MANIFEST_DIR-none}} $HOME\"");
    let home = std::env::home_dir().unwrap();
    let (printed, shortfalls) = scene.run(&shown).await;
    assert_eq!(printed, format!("none none {}\n", home.display()));
    assert!(
        !shortfalls.join("\n").contains("not granted"),
        "{shortfalls:?}"
    );
    assert!(!scene.writes("$ROOT/project/new").await);
    assert!(scene.writes("$DATA/new").await);
    assert!(scene.writes("$TMPDIR/new").await);
    // No program but its own, unless named.
    assert!(scene.run("/bin/ls /").await.0.contains("denied"));
    let scene = Scene::permitted(json!({"fs_write": ["$CWD"], "env": [KEY], "exec": ["ls"]}));
    assert!(scene.writes("$ROOT/project/new").await);
    assert!(!scene.writes("$ROOT/outside/new").await);
    let (printed, _) = scene.run(&format!("ls; echo ${KEY}")).await;
    assert_eq!(printed, format!("new\n{}\n", env!("CARGO_PKG_NAME")));
}

#[tokio::test]
async fn levels_have_the_places_of_every_sandbox() {
    if !confines() {
        return;
    }
    let scene = Scene::sandboxed(Level::Workspace);
    assert!(scene.writes("$ROOT/project/new").await);
    assert!(scene.writes("$DATA/new").await);
    assert!(scene.writes("$TMPDIR/new").await);
    assert!(!scene.writes("$ROOT/outside/new").await);
    assert_eq!(scene.run("ls").await.0, "new\n", "programs can be started");
    let shown = format!("echo \"${{{KEY}-none}} ${{CARGO_MANIFEST_DIR-none}}\"");
    assert_eq!(scene.run(&shown).await.0, "none none\n");

    let mut scene = Scene::sandboxed(Level::ReadOnly);
    fs::write(scene.root.join("project/old"), "old").unwrap();
    assert!(!scene.writes("$ROOT/project/new").await);
    assert!(scene.writes("$DATA/new").await);
    assert_eq!(scene.run("cat old").await.0, "old");
    // Permissions name what is allowed beyond the level, and narrow the programs.
    let outside = scene.root.join("outside");
    scene.permissions = serde_json::from_value(json!({"fs_write": [outside], "exec": []})).unwrap();
    assert!(scene.writes("$ROOT/outside/new").await);
    assert!(!scene.writes("$ROOT/project/new").await);
    assert!(scene.run("cat old").await.0.contains("denied"));
}

#[tokio::test]
async fn a_minimum_holds_for_those_that_ask_for_nothing() {
    if !confines() {
        return;
    }
    let mut scene = Scene::new();
    scene.minimum = Level::Workspace;
    assert!(scene.writes("$ROOT/project/new").await);
    assert!(!scene.writes("$ROOT/outside/new").await);
    scene.sandbox = Some(Level::Off);
    assert!(!scene.writes("$ROOT/outside/new").await);
    scene.minimum = Level::ReadOnly;
    assert!(!scene.writes("$ROOT/project/new").await);
    scene.sandbox = Some(Level::Workspace);
    assert!(!scene.writes("$ROOT/project/new").await);
}

#[tokio::test]
async fn a_project_does_not_choose_a_directory_beyond_itself_under_a_minimum() {
    let scene = Scene::new();
    let project = scene.root.join("project");
    std::os::unix::fs::symlink(scene.root.join("outside"), project.join("link")).unwrap();
    fs::create_dir(project.join("below")).unwrap();
    let refused = |cwd: &str, minimum: Level, project: Option<&Path>| {
        let rules = LaunchRules {
            minimum,
            ..LaunchRules::default()
        };
        let started = start_program(&ProgramLaunch {
            name: "x".to_owned(),
            program: "/bin/true",
            args: &[],
            env: &BTreeMap::new(),
            cwd: &scene.root.join(cwd),
            workspaces: &[],
            data_dir: &scene.data_dir(),
            sandbox: None,
            permissions: None,
            project,
            rules: &rules,
        });
        matches!(started, Err(LaunchError::OutsideProject { .. }))
    };
    for cwd in ["outside", "", "project/..", "project/link", "none"] {
        assert!(refused(cwd, Level::Workspace, Some(&project)), "{cwd}");
        assert!(!refused(cwd, Level::Workspace, None), "{cwd}");
        assert!(!refused(cwd, Level::Off, Some(&project)), "{cwd}");
    }
    for cwd in ["project", "project/below"] {
        assert!(!refused(cwd, Level::Workspace, Some(&project)), "{cwd}");
    }
}

#[tokio::test]
async fn a_minimum_leaves_what_the_user_could_read_and_narrows_what_a_project_asks() {
    if !confines() {
        return;
    }
    let wide = |root: &Path| json!({"fs_write": ["$CWD", root.join("outside")], "network": true, "env": [KEY]});
    let mut scene = Scene::new();
    scene.permissions = serde_json::from_value(wide(&scene.root)).unwrap();
    scene.minimum = Level::Workspace;
    assert!(scene.writes("$ROOT/outside/new").await);
    scene.minimum = Level::ReadOnly;
    assert!(scene.writes("$ROOT/outside/new").await);
    assert!(!scene.writes("$ROOT/project/new").await);

    scene.minimum = Level::Workspace;
    scene.is_from_project = true;
    assert!(scene.writes("$ROOT/project/new").await);
    assert!(!scene.writes("$ROOT/outside/new").await);
    let (printed, shortfalls) = scene.run(&format!("echo \"${{{KEY}-none}}\"")).await;
    assert_eq!(printed, "none\n");
    let outside = scene.root.join("outside");
    for refused in [
        "the network",
        &format!("env: {KEY}"),
        &format!("fs_write: {}", outside.display()),
    ] {
        let text = format!("{refused} is not granted: your configuration confines it to workspace");
        assert!(shortfalls.contains(&text), "{shortfalls:?}");
    }
    // A program outside is not a way to read there.
    let secret = outside.join("secret");
    fs::write(&secret, "canary").unwrap();
    for mode in [0o644, 0o755] {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
        scene.permissions = serde_json::from_value(json!({"exec": [secret]})).unwrap();
        let (printed, _) = scene
            .run("read line < $ROOT/outside/secret; echo \"$line\"")
            .await;
        assert!(!printed.contains("canary"), "{mode:o}: {printed}");
    }
    // What narrows the minimum stays.
    scene.permissions = Some(Permissions::default());
    assert!(!scene.writes("$ROOT/project/new").await);
}

#[test]
fn a_minimum_that_cannot_be_enforced_is_an_error_whatever_the_permissions() {
    let missing = || Status::NotEnforced("no Landlock".to_owned());
    let [confined, without_files, without_network] = [
        enforceable(),
        Enforcement {
            files: missing(),
            ..enforceable()
        },
        Enforcement {
            files: Status::Enforced,
            network: missing(),
            ..enforceable()
        },
    ];
    let confined = Enforcement {
        files: Status::Partly("old".to_owned()),
        network: Status::Enforced,
        ..confined
    };
    let permissions = Permissions::default();
    for minimum in [Level::Off, Level::Workspace, Level::ReadOnly] {
        let rules = LaunchRules {
            minimum,
            ..LaunchRules::default()
        };
        let wanted = Wanted {
            permissions: Some(&permissions),
            sandbox: None,
            memory_bytes: None,
            is_from_project: false,
            rules: &rules,
        };
        assert!(wanted.check(&confined).is_ok(), "{minimum}");
        for enforcement in [&without_files, &without_network] {
            let checked = wanted.check(enforcement).map_err(|error| error.to_string());
            let expected = match minimum {
                Level::Off => Ok(()),
                _ => Err("this system cannot confine programs: no Landlock".to_owned()),
            };
            assert_eq!(checked, expected, "{minimum}");
        }
    }
}

/// What zot would start or obey later cannot be written with the project.
#[tokio::test]
async fn protected_files_of_the_project_stay_as_they_are() {
    if !confines() {
        return;
    }
    let scene = Scene::permitted(json!({"fs_write": ["$CWD"]}));
    fs::create_dir_all(scene.root.join("project/.zot/extensions")).unwrap();
    let is_protected = !scene.writes("$ROOT/project/.zot/extensions/new").await;
    assert_eq!(is_protected, zot_process::sandbox::has_views());
    assert!(scene.writes("$ROOT/project/new").await);
    // One that did not exist is renamed when it is seen, and in the end.
    assert!(scene.writes("$ROOT/project/.mcp.json").await);
    assert!(!scene.root.join("project/.mcp.json").exists());
}

#[tokio::test]
async fn what_a_running_program_creates_is_renamed_while_it_runs() {
    if !confines() {
        return;
    }
    let scene = Scene::sandboxed(Level::Workspace);
    let rules = LaunchRules::default();
    // It does not give up.
    let script = "echo x > .mcp.json; while [ -e .mcp.json ]; do sleep 0.1; done; echo x > .mcp.json; read line";
    let launch = ProgramLaunch {
        name: "x".to_owned(),
        program: "/bin/sh",
        args: &["-c".to_owned(), script.to_owned()],
        env: &BTreeMap::new(),
        cwd: &scene.root.join("project"),
        workspaces: &[],
        data_dir: &scene.data_dir(),
        sandbox: scene.sandbox,
        permissions: None,
        project: None,
        rules: &rules,
    };
    let process = start_program(&launch).unwrap();
    // A caller that is busy asks again and again.
    let noticed = || async {
        loop {
            let soon = std::time::Duration::from_millis(100);
            if let Ok(remarks) = tokio::time::timeout(soon, process.sandbox.noticed()).await {
                return remarks;
            }
        }
    };
    let limit = std::time::Duration::from_secs(30);
    for _ in 0..2 {
        let remarks = tokio::time::timeout(limit, noticed()).await.unwrap();
        assert!(
            matches!(&remarks[..], [remark] if remark.concerns_user && remark.text.contains("/.mcp.json was created")),
            "{remarks:?}"
        );
    }
    assert!(!scene.root.join("project/.mcp.json").exists());
    assert!(process.sandbox.remarks().is_empty(), "it is said once");
    drop(process.stdin);
    process.group.end(limit).await;
}

/// A server on this machine, outside of the network of the program.
async fn serve() -> (u16, tokio::task::JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).await;
            let response = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere";
            let _ = stream.write_all(response).await;
        }
    });
    (port, tasks)
}

/// A script that fetches a page as most programs do: through the proxy of the environment.
fn fetch(address: &str) -> String {
    format!(
        "python3 -c \"import os, urllib.request\nfor name in ('no_proxy', 'NO_PROXY'): os.environ.pop(name, None)\n\
         print(urllib.request.urlopen('http://{address}/', timeout=10).read().decode())\""
    )
}

#[tokio::test]
async fn only_listed_hosts_can_be_reached() {
    if !zot_process::sandbox::has_views() {
        testkit::skip_without(testkit::KernelFeature::Namespaces, "no namespaces");
        return;
    }
    let (port, _server) = serve().await;
    let here = format!("127.0.0.1:{port}");
    let reached = |(printed, _): (String, Vec<String>)| printed == "here\n";
    for sandbox in [None, Some(Level::Workspace), Some(Level::ReadOnly)] {
        let with = |permissions: Value| Scene {
            sandbox,
            ..Scene::permitted(permissions)
        };
        let any = json!({"exec": ["python3"]});
        assert!(!reached(with(any).run(&fetch(&here)).await), "{sandbox:?}");
        let listed = with(json!({"exec": ["python3"], "connect": [here]}));
        let (printed, remarks) = listed.run(&fetch(&here)).await;
        assert_eq!(printed, "here\n", "{sandbox:?}");
        let remark = format!("it contacted {here}");
        assert!(remarks.contains(&remark), "{remarks:?}");
        let (printed, shortfalls) = listed.run(&fetch("example.com")).await;
        assert!(printed.contains("403"), "{printed}");
        let remark = "the sandbox refused a connection to example.com:80".to_owned();
        assert!(shortfalls.contains(&remark), "{shortfalls:?}");
        let record = network_log_path(&listed.root.join(listed.zot_home));
        let record = std::fs::read_to_string(record).unwrap();
        let recorded: Vec<RecordedContact> = record
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let hosts: Vec<(&str, bool)> = recorded
            .iter()
            .map(|contact| (contact.host.as_str(), contact.allowed))
            .collect();
        assert_eq!(hosts, [("127.0.0.1", true), ("example.com", false)]);
        assert_eq!(recorded[1].program.as_deref(), Some("MCP server x"));
        let every = with(json!({"exec": ["python3"], "network": true}));
        assert!(reached(every.run(&fetch(&here)).await), "{sandbox:?}");
    }
    // A minimum takes it from what a project brings along.
    let mut project = Scene::permitted(json!({"exec": ["python3"], "connect": [here]}));
    project.minimum = Level::Workspace;
    assert!(reached(project.run(&fetch(&here)).await));
    project.is_from_project = true;
    assert!(!reached(project.run(&fetch(&here)).await));
}

#[tokio::test]
async fn only_listed_unix_sockets_can_be_reached() {
    if !zot_process::sandbox::has_views() {
        testkit::skip_without(testkit::KernelFeature::Namespaces, "no namespaces");
        return;
    }
    for sandbox in [None, Some(Level::Workspace)] {
        let mut scene = Scene::permitted(json!({"exec": ["python3"]}));
        scene.sandbox = sandbox;
        let path = scene.root.join("outside/socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let connect = "python3 -c \"import os, socket; \
                       socket.socket(socket.AF_UNIX).connect(os.environ['ROOT'] + '/outside/socket')\" && echo in";
        let (printed, _) = scene.run(connect).await;
        assert!(!printed.ends_with("in\n"), "{sandbox:?}");
        let permissions = json!({"exec": ["python3"], "unix_sockets": [path]});
        scene.permissions = serde_json::from_value(permissions).unwrap();
        let (printed, shortfalls) = scene.run(connect).await;
        assert_eq!(printed, "in\n", "{sandbox:?}: {shortfalls:?}");
    }
}
