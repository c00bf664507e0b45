mod approval;
mod expansion;
mod redaction;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use zot_extension_contract::Level;

use super::*;
use crate::entry::{Address, Exposure};

/// A user's home and a project in a repository.
struct Place {
    _root: TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let (home, project) = (path.join("home"), path.join("project"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join("deep/er")).unwrap();
        Self {
            _root: root,
            home,
            project,
        }
    }

    fn user(self, text: &str) -> Self {
        fs::write(self.home.join(USER_FILE), text).unwrap();
        self
    }

    fn project(self, text: &str) -> Self {
        fs::write(self.project.join(PROJECT_FILE), text).unwrap();
        self
    }

    fn load(&self, project: ProjectServers) -> Configuration {
        self.load_from(&self.project, project, &[]).unwrap()
    }

    fn load_from(
        &self,
        cwd: &Path,
        project: ProjectServers,
        given: &[Given],
    ) -> Result<Configuration, ConfigurationError> {
        Configuration::load(&Sources {
            home: &self.home,
            cwd,
            user: UserServers::Read,
            project,
            given,
            env: &|name| (name == "SET").then(|| "value".to_owned()),
        })
    }
}

fn names(configuration: &Configuration) -> Vec<&str> {
    let servers = configuration.servers.iter();
    servers.map(|server| server.entry.name.as_str()).collect()
}

fn problems(configuration: &Configuration) -> Vec<String> {
    configuration
        .problems
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn nothing_configured_is_nothing() {
    let loaded = Place::new().load(ProjectServers::Start);
    assert!(loaded.servers.is_empty() && loaded.problems.is_empty());
    assert!(loaded.project.is_none());
}

#[test]
fn every_key_is_read() {
    let place = Place::new().user(
        r#"{"mcpServers": {
            "all": {"type": "stdio", "command": "run", "args": ["-x"], "env": {"A": "1", "PORT": 80}, "cwd": "/there",
                "timeout": 5000, "enabled": false, "exposure": "hidden",
                "toolExposure": {"z*": "direct", "a": "auto"}, "protocol": "2026-07-28",
                "sandbox": "workspace",
                "permissions": {"network": true, "fs_read": ["$CWD"]}, "somebody": "else's"},
            "remote": {"type": "http", "url": "https://a.example/mcp", "headers": {"X": "y"}, "alwaysLoad": true,
                "oauth": {"clientId": "me", "clientSecret": "s", "callbackPort": 3118, "scopes": "a b"}},
            "old": {"type": "sse", "url": "http://b.example/sse", "disabled": true},
            "typeless": {"url": "https://c.example"}
        }}"#,
    );
    let loaded = place.load(ProjectServers::Skip);
    assert_eq!(problems(&loaded), Vec::<String>::new());
    let [all, remote, old, typeless] = loaded.entries().try_into().unwrap();
    let Address::Stdio {
        command,
        args,
        env,
        cwd,
    } = &all.address
    else {
        panic!("{all:?}")
    };
    assert_eq!(
        (command.as_str(), args.as_slice()),
        ("run", &["-x".to_owned()][..])
    );
    assert_eq!((env["A"].as_str(), env["PORT"].as_str()), ("1", "80"));
    assert_eq!(cwd.as_deref(), Some(Path::new("/there")));
    assert_eq!(all.timeout, Some(Duration::from_secs(5)));
    assert!(!all.enabled);
    assert_eq!(all.exposure, Some(Exposure::Hidden));
    // The order is the file's, because the first match counts.
    let expected = vec![
        ("z*".to_owned(), Some(Exposure::Direct)),
        ("a".to_owned(), None),
    ];
    assert_eq!(all.tool_exposure, expected);
    assert_eq!(all.protocol.as_deref(), Some("2026-07-28"));
    assert!(all.permissions.unwrap().network);
    assert_eq!(all.sandbox, Some(Level::Workspace));
    assert!(matches!(&remote.address, Address::Http { headers, .. } if headers["X"] == "y"));
    assert_eq!(remote.exposure, Some(Exposure::Direct));
    let oauth = remote.oauth.unwrap();
    assert_eq!(
        (oauth.client_id.as_deref(), oauth.callback_port),
        (Some("me"), Some(3118))
    );
    assert_eq!(oauth.scopes, ["a", "b"]);
    assert!(matches!(old.address, Address::Sse { .. }) && !old.enabled);
    assert!(matches!(typeless.address, Address::Http { .. }));
}

#[test]
fn mistakes_cost_their_entry_and_are_named() {
    let place = Place::new().user(
        r#"{"mcpServers": {
  "good": {"command": "x"},
  "args": {"command": "x", "args": 5},
  "env": {"command": "x", "env": {"A": ["secret"]}},
  "kind": {"type": "websocket", "url": "wss://x"},
  "both": {"command": "x", "url": "https://x"},
  "none": {"type": "http"},
  "file": {"url": "file:///etc/passwd"},
  "wide": {"command": "x", "permissions": {"fs_read": ["../up"]}},
  "era": {"command": "x", "protocol": "1999-01-01"},
  "exp": {"command": "x", "exposure": "loud"},
  "loose": {"command": "x", "sandbox": "loose"},
  "host": {"command": "x", "permissions": {"connect": ["a:b:c"]}},
  "text": "x",
  "bad name": {"command": "x"}
}}"#,
    );
    let loaded = place.load(ProjectServers::Skip);
    assert_eq!(names(&loaded), ["good"]);
    let file = place.home.join(USER_FILE).display().to_string();
    let expected = [
        r#"line 3: MCP server "args": "args" must be a list of strings, got a number (left out)"#,
        r#"line 4: MCP server "env": "A" in "env" must be a string, got a list (left out)"#,
        r#"line 5: MCP server "kind": "type" must be stdio, http or sse, got "websocket" (left out)"#,
        r#"line 6: MCP server "both": has both "command" and "url": remove one, or add a "type" (left out)"#,
        r#"line 7: MCP server "none": "url" is missing: give the address of the server (left out)"#,
        r#"line 8: MCP server "file": "url" must begin with https:// or http:// (left out)"#,
        r#"line 9: MCP server "wide": "permissions": "../up" is neither absolute nor below $CWD, $HOME, ~ or $DATA_DIR (left out)"#,
        r#"line 10: MCP server "era": "protocol" must be 2026-07-28 or 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, got "1999-01-01" (left out)"#,
        r#"line 11: MCP server "exp": "exposure" must be auto, direct, deferred or hidden, got "loud" (left out)"#,
        r#"line 12: MCP server "loose": "sandbox": unknown sandbox "loose": use off, workspace or read-only (left out)"#,
        r#"line 13: MCP server "host": "permissions": "a:b:c" is not a host: the port must be a number from 1 to 65535; write host:port, for instance github.com:443 (left out)"#,
        r#"line 14: MCP server "text": expected an object, got a string (left out)"#,
        r#"line 15: MCP server "bad name": "bad name" cannot be the name of a server: use at most 64 letters, digits, '-', '_' and '.', starting with a letter or digit (left out)"#,
    ];
    let expected = expected.map(|text| format!("{file}, {text}"));
    let mut found = problems(&loaded);
    found.sort_by_key(|text| expected.iter().position(|known| known == text));
    assert_eq!(found, expected);
}

#[test]
fn probable_mistakes_are_warnings() {
    let place = Place::new().user(
        r#"{"mcpServers": {
            "a": {"command": "x", "timeout": 30, "argz": [], "headersHelper": "y"},
            "b": {"url": "https://x", "permissions": {}, "sandbox": "read-only"},
            "a": {"command": "second"}
        }}"#,
    );
    let loaded = place.load(ProjectServers::Skip);
    assert_eq!(names(&loaded), ["b", "a"]);
    let texts: Vec<&str> = loaded
        .problems
        .iter()
        .map(|problem| problem.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "unknown key \"argz\"; did you mean \"args\"?",
            "\"timeout\" is in milliseconds, and 30 is too short: ignored",
            "\"headersHelper\" is not supported: put the headers into \"headers\"",
            "\"permissions\" have no effect on a server that is reached by URL",
            "\"sandbox\" has no effect on a server that is reached by URL",
            "is described twice in this file: the last one counts",
        ]
    );
    assert!(loaded.problems.iter().all(|problem| !problem.is_left_out()));
}

#[test]
fn an_unusable_file_is_a_problem_and_never_repeats_values() {
    for (text, expected) in [
        (
            "{\"mcpServers\": {",
            ", line 1: EOF while parsing an object (its servers are left out)",
        ),
        (
            "\"secret\"",
            ", line 1: expected a JSON object (its servers are left out)",
        ),
        (
            "{\"mcpServers\": [\"secret\"]}",
            ", line 1: \"mcpServers\" must be an object with a server for each name (its servers are left out)",
        ),
        (
            "{\n\"github\": {\"command\": \"secret\"}}",
            ", line 2: expected the servers below \"mcpServers\", found \"github\" (its servers are left out)",
        ),
    ] {
        let place = Place::new()
            .user(text)
            .project(r#"{"mcpServers": {"p": {"command": "x"}}}"#);
        let loaded = place.load(ProjectServers::Start);
        assert_eq!(names(&loaded), ["p"], "{text}");
        let file = place.home.join(USER_FILE).display().to_string();
        assert_eq!(problems(&loaded), [format!("{file}{expected}")]);
    }
    let empty = Place::new().user(" ").load(ProjectServers::Skip);
    assert!(empty.problems.is_empty());
    let other = Place::new()
        .user("{\"theme\": \"dark\"}")
        .load(ProjectServers::Skip);
    assert!(other.problems.is_empty());
}

#[test]
fn a_project_overrides_the_user_only_if_it_counts() {
    let place = Place::new()
        .user(r#"{"mcpServers": {"a": {"command": "users"}, "b": {"command": "users"}}}"#)
        .project(r#"{"mcpServers": {"a": {"command": "projects"}, "c": {"command": "projects"}}}"#);
    let command = |configuration: &Configuration, name: &str| {
        let mut servers = configuration.servers.iter();
        let server = servers.find(|server| server.entry.name == name).unwrap();
        match &server.entry.address {
            Address::Stdio { command, .. } => command.clone(),
            other => panic!("{other:?}"),
        }
    };
    for (project, state) in [
        (ProjectServers::Skip, ProjectState::Skipped),
        (ProjectServers::IfApproved, ProjectState::Unanswered),
    ] {
        let loaded = place.load(project);
        assert_eq!(names(&loaded), ["a", "b"]);
        assert_eq!(command(&loaded, "a"), "users");
        let file = loaded.project.unwrap();
        assert_eq!(file.state, state);
        let proposed: Vec<_> = file
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect();
        assert_eq!(proposed, ["a", "c"]);
    }
    let loaded = place.load(ProjectServers::Start);
    assert_eq!(names(&loaded), ["b", "a", "c"]);
    assert_eq!(command(&loaded, "a"), "projects");
    assert_eq!(loaded.project.unwrap().state, ProjectState::Included);
}

#[test]
fn a_project_is_found_from_below_within_its_repository_and_runs_in_its_directory() {
    let place = Place::new().project(
        r#"{"mcpServers": {"a": {"command": "./x"}, "b": {"command": "x", "cwd": "sub"}}}"#,
    );
    let deep = place.project.join("deep/er");
    let loaded = place.load_from(&deep, ProjectServers::Start, &[]).unwrap();
    let directories: Vec<PathBuf> = loaded
        .entries()
        .into_iter()
        .map(|entry| match entry.address {
            Address::Stdio { cwd, .. } => cwd.unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        directories,
        [place.project.clone(), place.project.join("sub")]
    );
    // Outside of a repository, only the directory itself counts: above may be anybody's.
    fs::remove_dir(place.project.join(".git")).unwrap();
    let loaded = place.load_from(&deep, ProjectServers::Start, &[]).unwrap();
    assert!(loaded.project.is_none());
    let loaded = place.load(ProjectServers::Start);
    assert_eq!(names(&loaded), ["a", "b"]);
}

#[test]
fn an_entry_without_address_changes_the_server_of_that_name() {
    let place = Place::new()
        .user(
            r#"{"mcpServers": {
                "p": {"enabled": false, "permissions": {}},
                "u": {"command": "x", "permissions": {}}}}"#,
        )
        .project(
            r#"{"mcpServers": {
                "p": {"command": "x", "enabled": true, "toolExposure": {"*": "direct"}},
                "u": {"exposure": "deferred", "permissions": {"network": true}, "toolExposure": {"y": "hidden"}}}}"#,
        );
    let loaded = place.load(ProjectServers::Start);
    let [u, p] = loaded.entries().try_into().unwrap();
    assert!(!p.enabled, "the user has the last word");
    assert!(p.permissions.is_some());
    assert_eq!(u.exposure, Some(Exposure::Deferred));
    assert!(
        !u.permissions.unwrap().network,
        "a project cannot widen them"
    );
    // Without the project, its changes do not count either.
    let [u] = place
        .load(ProjectServers::Skip)
        .entries()
        .try_into()
        .unwrap();
    assert_eq!(u.exposure, None);
}

#[test]
fn given_configuration_wins_and_must_be_right() {
    let place = Place::new().user(r#"{"mcpServers": {"a": {"command": "users"}}}"#);
    let file = place.project.join("extra.json");
    fs::write(
        &file,
        r#"{"mcpServers": {"a": {"command": "given"}, "b": {"command": "given"}}}"#,
    )
    .unwrap();
    let given = [
        Given::of_word("extra.json", &place.project),
        Given::of_word(
            r#"{"mcpServers": {"b": {"command": "text"}}}"#,
            &place.project,
        ),
    ];
    let loaded = place
        .load_from(&place.project, ProjectServers::Skip, &given)
        .unwrap();
    assert_eq!(names(&loaded), ["a", "b"]);
    assert!(
        loaded
            .servers
            .iter()
            .all(|server| server.entry.origin == EntryOrigin::Program)
    );
    assert_eq!(loaded.servers[0].file.as_deref(), Some(file.as_path()));
    assert_eq!(loaded.servers[1].file, None);
    let error = |word: &str| {
        let given = [Given::of_word(word, &place.project)];
        let failed = place.load_from(&place.project, ProjectServers::Skip, &given);
        failed.unwrap_err().to_string()
    };
    assert_eq!(
        error("missing.json"),
        format!(
            "cannot read {}",
            place.project.join("missing.json").display()
        )
    );
    assert_eq!(
        error(r#"{"mcpServers": {"a": {"command": 1}}}"#),
        "the MCP configuration, line 1: MCP server \"a\": \"command\" must be a string, got a number (left out)"
    );
}

/// The sandbox of a server is the user's to loosen; a project can only tighten it.
#[test]
fn a_project_tightens_the_sandbox_of_a_server_and_a_user_sets_it() {
    let place = Place::new()
        .user(
            r#"{"mcpServers": {
                "free": {"command": "x"}, "tight": {"command": "x", "sandbox": "read-only"},
                "exact": {"command": "x", "permissions": {}}, "p": {"sandbox": "read-only"}}}"#,
        )
        .project(
            r#"{"mcpServers": {
                "free": {"sandbox": "workspace"}, "tight": {"sandbox": "off"},
                "exact": {"sandbox": "workspace"}, "p": {"command": "x", "sandbox": "workspace"}}}"#,
        );
    let entries = place.load(ProjectServers::Start).entries();
    let level = |name: &str| {
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        entry.sandbox
    };
    assert_eq!(level("free"), Some(Level::Workspace));
    assert_eq!(level("tight"), Some(Level::ReadOnly));
    assert_eq!(
        level("exact"),
        None,
        "a level would add the working directory"
    );
    assert_eq!(level("p"), Some(Level::ReadOnly));
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "sandbox": "workspace", "permissions":
        {"connect": ["a.org:443"], "unix_sockets": ["/run/x"], "exec": ["git"]}}}}"#;
    let [first] = entries_of(text);
    let again = format!(r#"{{"mcpServers": {{"a": {}}}}}"#, written(&first));
    let [second] = entries_of(&again);
    assert_eq!(first, second);
}

fn entries_of(text: &str) -> [ServerEntry; 1] {
    let loaded = Place::new().user(text).load(ProjectServers::Skip);
    loaded.entries().try_into().unwrap()
}
