use std::path::Path;

use super::permissions::PathVariables;
use super::*;

fn parse(text: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(text.as_bytes())
}

#[test]
fn the_seeds_manifest_is_read() {
    let manifest = parse(
        r#"{"name":"weather","version":"1.0.0","exec":"./weather","args":["--mode","daemon"],
            "language":"go","description":"current weather","enabled":true,"extra":1}"#,
    )
    .unwrap();
    assert_eq!(manifest.name, "weather");
    assert_eq!(manifest.args, ["--mode", "daemon"]);
    assert!(manifest.enabled);
    assert_eq!(manifest.permissions, None);
    let smallest = parse(r#"{"name":"a","exec":"a"}"#).unwrap();
    assert!(smallest.enabled);
    assert_eq!(smallest.on_failure, FailurePolicy::Allow);
}

#[test]
fn errors_name_what_is_missing_or_wrong() {
    let error = |text| parse(text).unwrap_err().to_string();
    assert!(error("{nope").contains("parse manifest"));
    assert!(error(r#"{"exec":"x"}"#).contains("\"name\" is missing"));
    assert!(error(r#"{"name":"x"}"#).contains("\"exec\" is missing"));
    assert!(error(r#"{"name":"x","exec":1}"#).contains("parse manifest"));
    assert!(error(r#"{"name":"x","exec":"x","permissions":{"netwrok":true}}"#).contains("netwrok"));
    assert!(
        error(r#"{"name":"x","exec":"x","permissions":{"fs_read":["notes"]}}"#)
            .contains("neither absolute")
    );
}

#[test]
fn names_stay_inside_a_directory() {
    for name in ["hello", "hello-py", "a.b_c", "0", "größe"] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    let long = "x".repeat(65);
    for name in [
        "", "..", ".hidden", "a/b", "../x", "a\\b", "a b", "-x", "a\0", &long,
    ] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn the_program_is_beside_the_manifest_or_on_the_path() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("run"), "").unwrap();
    let program = |exec: &str| {
        let manifest = parse(&format!(r#"{{"name":"a","exec":{exec:?}}}"#)).unwrap();
        manifest.program(directory.path())
    };
    assert_eq!(program("run"), directory.path().join("run"));
    assert_eq!(program("./missing"), directory.path().join("missing"));
    assert_eq!(program("bin/missing"), directory.path().join("bin/missing"));
    assert_eq!(program("python3"), Path::new("python3"));
    assert_eq!(program("/usr/bin/env"), Path::new("/usr/bin/env"));
}

#[test]
fn permitted_paths_are_resolved() {
    let manifest = parse(
        r#"{"name":"a","exec":"a","permissions":{
            "fs_read":["$CWD","~/notes","/etc/hosts"],"fs_write":["$DATA_DIR/cache"],"exec":["git"]}}"#,
    )
    .unwrap();
    let permissions = manifest.permissions.unwrap();
    let places = PathVariables {
        cwd: Path::new("/work"),
        home: Some(Path::new("/home/me")),
        data_dir: Path::new("/data"),
    };
    let paths = |permitted: Vec<PermittedPath>| -> Vec<PathBuf> {
        permitted.iter().map(PermittedPath::path).collect()
    };
    assert_eq!(
        paths(permissions.readable(&places)),
        ["/work", "/home/me/notes", "/etc/hosts"].map(PathBuf::from)
    );
    assert_eq!(
        paths(permissions.writable(&places)),
        [PathBuf::from("/data/cache")]
    );
    assert_eq!(
        permissions.exec,
        Some(ExecPermission::Only(vec!["git".to_owned()]))
    );
    assert!(!permissions.network);
}

#[test]
fn permitted_paths_are_where_they_seem_to_be() {
    let check = |permissions: serde_json::Value| {
        let manifest = serde_json::json!({"name": "a", "exec": "a", "permissions": permissions});
        parse(&manifest.to_string()).map_err(|error| error.to_string())
    };
    for path in [
        "$DATA_DIR//",
        "$DATA_DIR//etc",
        "$DATA_DIR/../../x",
        "$CWD/a/..",
        "~//",
        "//etc",
        "/tmp/../etc",
    ] {
        for field in ["fs_read", "fs_write"] {
            let error = check(serde_json::json!({ field: [path] })).unwrap_err();
            assert!(error.contains("not lead where it seems"), "{path}: {error}");
        }
    }
    for field in ["fs_read", "fs_write", "unix_sockets", "exec", "env"] {
        let error = check(serde_json::json!({ field: ["/a\u{1b}[2K\n"] })).unwrap_err();
        assert!(error.contains("control characters"), "{error}");
        assert!(!error.contains('\u{1b}'), "{error}");
    }
    for path in ["/", "/tmp/", "$CWD/", "~/a b", "$HOME/.config/x..y"] {
        check(serde_json::json!({ "fs_write": [path] })).unwrap();
    }
}

#[test]
fn sandboxes_and_hosts_are_checked() {
    let manifest = |rest: &str| parse(&format!(r#"{{"name":"a","exec":"a",{rest}}}"#));
    let parsed = manifest(r#""sandbox":"workspace""#).unwrap();
    assert_eq!(parsed.sandbox, Some(Level::Workspace));
    let error = manifest(r#""sandbox":"tight""#).unwrap_err().to_string();
    assert!(error.contains("use off, workspace or read-only"), "{error}");
    let rules = r#""permissions":{"connect":["api.example.com:443"],"unix_sockets":["/run/x"]}"#;
    let permissions = manifest(rules).unwrap().permissions.unwrap();
    assert_eq!(
        permissions.hosts(),
        ["api.example.com:443".parse().unwrap()]
    );
    let error = manifest(r#""permissions":{"connect":["api.example.com:http"]}"#).unwrap_err();
    assert!(error.to_string().contains("is not a host"), "{error}");
    let error = manifest(r#""permissions":{"unix_sockets":["run/x"]}"#).unwrap_err();
    assert!(error.to_string().contains("neither absolute"), "{error}");
}

#[test]
fn only_files_are_manifests() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(MANIFEST_FILE);
    let refused = || {
        let error = Manifest::load(directory.path()).unwrap_err();
        assert!(matches!(error, ManifestError::NotAFile(_)), "{error}");
    };
    // Opening it for reading would wait for a writer.
    let fifo = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(fifo.unwrap().success());
    refused();
    for other in ["/dev/zero", "/dev"] {
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(other, &path).unwrap();
        refused();
    }
}

#[test]
fn the_data_of_a_project_extension_is_its_own() {
    let confined = parse(r#"{"name":"guard","exec":"x","permissions":{}}"#).unwrap();
    let home = Path::new("/home/me/.zot");
    let data_dir = |directory: &str| confined.data_dir(Path::new(directory), home, Level::Off);
    let own = data_dir("/home/me/.zot/extensions/guard");
    assert_eq!(own, home.join("extension-data/guard"));
    let one = data_dir("/work/one/.zot/extensions/guard");
    assert_eq!(one, home.join("extension-data/guard@487b553a1d8b8ebc"));
    assert_ne!(one, data_dir("/work/two/.zot/extensions/guard"));
    let free = parse(r#"{"name":"guard","exec":"x"}"#).unwrap();
    let directory = Path::new("/work/one/.zot/extensions/guard");
    assert_eq!(free.data_dir(directory, home, Level::Off), directory);
    assert_eq!(free.data_dir(directory, home, Level::Workspace), one);
    let sandboxed = parse(r#"{"name":"guard","exec":"x","sandbox":"read-only"}"#).unwrap();
    assert_eq!(sandboxed.data_dir(directory, home, Level::Off), one);
    let off = r#"{"name":"guard","exec":"x","sandbox":"off","permissions":{"env":["KEY"]}}"#;
    let off = parse(off).unwrap();
    assert_eq!(off.data_dir(directory, home, Level::Off), directory);
}

#[test]
fn the_time_to_start_has_bounds() {
    let time = |field: &str| {
        let manifest = format!(r#"{{"name":"x","exec":"x"{field}}}"#);
        parse(&manifest).unwrap().start_time().as_secs_f64()
    };
    for (field, seconds) in [
        ("", 60.0),
        (r#","start_timeout":null"#, 60.0),
        (r#","start_timeout":120"#, 120.0),
        (r#","start_timeout":2.5"#, 2.5),
        (r#","start_timeout":0"#, 1.0),
        (r#","start_timeout":-5"#, 1.0),
        (r#","start_timeout":86400"#, 600.0),
        (r#","start_timeout":1e300"#, 600.0),
    ] {
        assert_eq!(time(field), seconds, "{field}");
    }
    assert!(parse(r#"{"name":"x","exec":"x","start_timeout":"soon"}"#).is_err());
}
