//! What programs of `exc` may do, with real services.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};
use zino::kind::ServiceKind::Executor;
use zot_process::launch::{Status, enforceable};
use zot_process::sandbox::has_views;

use crate::installation::{Installation, Process};

/// A running `exc` with a working directory, and files beside it.
struct Scene {
    installation: Installation,
    _process: Process,
}

impl Scene {
    fn new(settings: &str) -> Self {
        let more = format!("exc.working_dir = \"work\"\n{settings}");
        let installation = Installation::new("http://127.0.0.1:1/v1", &more);
        fs::create_dir_all(installation.path("work/zot")).unwrap();
        fs::write(installation.path("work/zot/auth.json"), "key").unwrap();
        fs::create_dir_all(installation.path("beside")).unwrap();
        fs::create_dir_all(installation.path("home/.npm/_cacache")).unwrap();
        fs::write(installation.path("home/.npm/package"), "cached").unwrap();
        let mut command = installation.command(&["exc"]);
        command
            .env("OPENAI_API_KEY", "canary-key")
            .env("LLM_API_KEY", "canary-key")
            .env("NOTIFY_SOCKET", "/nowhere")
            .env("ANYTHING", "else")
            .env("HOME", installation.path("home"))
            .env("ZOT_HOME", installation.path("work/zot"));
        let process = installation.spawn(command, "exc");
        installation.wait_for(Executor, &process);
        Self {
            installation,
            _process: process,
        }
    }

    fn run(&self, code: &str) -> Value {
        let root = self.installation.path("");
        let code = format!("ROOT={}\n{code}", root.display());
        let run = json!({ "type": "execute", "executor": "bash", "code": code });
        self.installation.ask_one(Executor, &run)
    }

    fn prints(&self, code: &str) -> String {
        self.run(code)["stdout"].as_str().unwrap().to_owned()
    }

    fn writes(&self, path: &str) -> bool {
        self.run(&format!("echo x > {path}"))["exit_code"] == 0
    }
}

fn confines() -> bool {
    match enforceable().files {
        Status::NotEnforced(reason) => {
            testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
            false
        }
        _ => true,
    }
}

#[test]
fn a_check_reports_what_the_service_would_refuse() {
    for (settings, expected) in [
        (
            "exc.working_dir = \"/nope\"\n",
            "[exc] working_dir: cannot use /nope",
        ),
        (
            "exc.open_files = 3\n",
            "[exc] open_files: expected at least 16, got 3",
        ),
        (
            "exc.memory_mib = 0\n",
            "[exc] memory_mib: expected at least 1, got 0",
        ),
        (
            "exc.timeout = 0\n",
            "[exc] timeout must be more than 0 seconds",
        ),
        (
            "exc.connect = [\"http://a\"]\n",
            "[exc] connect: \"http://a\" is not a host",
        ),
    ] {
        assert_refused(settings, expected);
    }
    if confines() {
        let settings = "exc.sandbox = true\nexc.working_dir = \"work\"\nexc.read = [\"/nope\"]\n";
        assert_refused(settings, "[exc] read: /nope");
    }
}

/// Asserts that `zino check` and `zino exc` say the same.
fn assert_refused(settings: &str, expected: &str) {
    // The last of two values for one key would be an error of its own.
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    let file = installation.path("ZINO.toml");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("exc.timeout = 30\n", "");
    fs::write(&file, format!("{text}{settings}")).unwrap();
    fs::create_dir(installation.path("work")).unwrap();
    let checked = installation.run(&["check"]);
    assert_eq!(checked.status.code(), Some(1));
    let checked = String::from_utf8(checked.stdout).unwrap();
    let mut lines = checked.lines();
    let is_reported = lines.any(|line| line.starts_with("FAIL exc ") && line.contains(expected));
    assert!(is_reported, "{settings}: {checked}");
    let started = installation.run(&["exc"]);
    let errors = String::from_utf8(started.stderr).unwrap();
    assert!(
        !started.status.success() && errors.contains(expected),
        "{errors}"
    );
}

#[test]
fn a_check_warns_about_rules_without_effect() {
    let warnings = |settings: &str| -> Vec<String> {
        let installation = Installation::new("http://127.0.0.1:1/v1", settings);
        let checked = String::from_utf8(installation.run(&["check"]).stdout).unwrap();
        let lines = checked.lines().filter(|line| line.starts_with("warn "));
        let lines = lines.filter(|line| line.contains("[exc]") || line.contains("[agents"));
        lines.map(str::to_owned).collect()
    };
    let rules = "exc.connect = [\"a.com\"]\nexc.run = [\"no-such-program\"]\n\
                 exc.environment = [\"A\"]\nexc.open_files = 16\nagents.a.connect = [\"a.com\"]\n";
    assert_eq!(
        warnings(rules),
        [
            "warn config   [exc] run has no effect while sandbox is off",
            "warn config   [exc] connect has no effect while sandbox is off",
            "warn config   [agents.a] connect has no effect while sandbox is off",
        ]
    );
    let confined = format!("{rules}exc.sandbox = true\nagents.a.sandbox = \"workspace\"\n");
    assert_eq!(
        warnings(&confined),
        ["warn exc      [exc] run: there is no program no-such-program"]
    );
}

/// The variables of interest, as a program sees them.
const SHOWN: &str =
    "echo ${OPENAI_API_KEY-none} ${LLM_API_KEY-none} ${NOTIFY_SOCKET-none} ${ANYTHING-none}";

#[test]
fn keys_are_withheld_at_every_level_unless_they_are_named() {
    for (settings, expected) in [
        ("", "none none none else"),
        ("exc.sandbox = true\n", "none none none else"),
        ("exc.sandbox = \"off\"\n", "none none none else"),
        ("exc.sandbox = \"workspace\"\n", "none none none none"),
        (
            "exc.environment = [\"LLM_API_KEY\"]\n",
            "none canary-key none else",
        ),
        (
            "exc.sandbox = \"read-only\"\nexc.environment = [\"ANY*\"]\n",
            "none none none else",
        ),
    ] {
        if settings.contains("sandbox") && !confines() {
            return;
        }
        let scene = Scene::new(settings);
        assert_eq!(scene.prints(SHOWN).trim(), expected, "{settings}");
    }
}

#[test]
fn levels_mean_what_they_mean_everywhere() {
    if !confines() {
        return;
    }
    let workspace = Scene::new("exc.sandbox = \"workspace\"\nexc.write = [\"../beside\"]\n");
    assert!(workspace.writes("here"));
    assert!(workspace.writes("$TMPDIR/here"));
    assert!(workspace.writes("$ROOT/beside/here"));
    assert!(workspace.installation.path("beside/here").exists());
    workspace.run("echo x > $ROOT/ZINO.toml");
    let config = fs::read_to_string(workspace.installation.path("ZINO.toml")).unwrap();
    assert_ne!(config, "x\n");
    assert!(
        !workspace
            .prints("cat $ROOT/ZINO.toml")
            .contains("working_dir")
    );

    let read_only = Scene::new("exc.sandbox = \"read-only\"\nexc.read = [\"../ZINO.toml\"]\n");
    fs::write(read_only.installation.path("work/file"), "text").unwrap();
    assert!(!read_only.writes("here"));
    assert!(read_only.writes("$TMPDIR/here"));
    assert_eq!(read_only.prints("cat file"), "text");
    assert!(
        read_only
            .prints("cat $ROOT/ZINO.toml")
            .contains("working_dir")
    );
}

#[test]
fn what_a_program_leaves_is_gone_for_the_next_one() {
    if !confines() {
        return;
    }
    for sandbox in ["true", "\"workspace\""] {
        let scene = Scene::new(&format!("exc.sandbox = {sandbox}\n"));
        let leave = "echo x > $TMPDIR/left; mkdir -p $TMPDIR/a/b; ln -s / $TMPDIR/link; \
                     echo x > ~/left 2>/dev/null; ls -A $TMPDIR | tr '\\n' ' '";
        for _ in 0..3 {
            let found = scene.prints(leave);
            let mut found: Vec<&str> = found.split_whitespace().collect();
            // Its own code, what it just made, and the way to the working directory.
            found.retain(|name| !name.starts_with("code") && !name.starts_with(".tmp"));
            assert_eq!(found, ["a", "left", "link"], "{sandbox}");
            let fresh = scene.prints("ls -A $TMPDIR ~ | grep -c left");
            assert_eq!(fresh, "0\n", "{sandbox}");
        }
    }
}

#[test]
fn what_a_program_changes_in_a_cache_of_packages_is_gone_for_the_next_one() {
    if !has_views() {
        testkit::skip_without(testkit::KernelFeature::Namespaces, "no namespaces");
        return;
    }
    for level in ["workspace", "read-only"] {
        let scene = Scene::new(&format!("exc.sandbox = \"{level}\"\n"));
        let look = "cat ~/.npm/package; find ~/.npm | sed \"s:.*/home/::\" | sort | tr '\\n' ' '";
        let fresh = "cached.npm .npm/_cacache .npm/package ";
        assert_eq!(scene.prints(look), fresh, "{level}");
        for change in [
            "echo x > ~/.npm/left",
            "echo x > ~/.npm/_cacache/left",
            "rm ~/.npm/package",
            "echo changed > ~/.npm/package",
            "chmod 700 ~/.npm; mv ~/.npm/package ~/.npm/moved",
        ] {
            scene.run(change);
            assert_eq!(scene.prints(look), fresh, "{level}: {change}");
        }
        let package = scene.installation.path("home/.npm/package");
        assert_eq!(fs::read_to_string(package).unwrap(), "cached");
    }
}

#[test]
fn programs_at_the_same_time_share_no_temporary_files() {
    if !confines() {
        return;
    }
    let scene = Scene::new("exc.sandbox = \"workspace\"\n");
    let code = |number| {
        // Each ends after all have written.
        format!(
            "echo $$ >> $TMPDIR/shared; echo > started.{number}
             for other in 0 1 2; do until [ -e started.$other ]; do sleep 0.02; done; done
             wc -l < $TMPDIR/shared"
        )
    };
    let (scene, code) = (&scene, &code);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3)
            .map(|number| scope.spawn(move || scene.prints(&code(number))))
            .collect();
        for run in runs {
            assert_eq!(run.join().unwrap().trim(), "1");
        }
    });
}

#[test]
fn only_listed_hosts_can_be_reached_and_the_result_names_the_others() {
    if !has_views() {
        testkit::skip_without(testkit::KernelFeature::Namespaces, "no namespaces");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().to_string();
    let fetch = |host: &str| {
        // As most programs do it: through the proxy of the environment.
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}} || exit 1\n\
             printf 'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n' >&3\n\
             read -r answer <&3; echo \"$answer\""
        )
    };
    for sandbox in ["true", "\"workspace\"", "\"read-only\""] {
        let closed = Scene::new(&format!("exc.sandbox = {sandbox}\n"));
        assert!(closed.prints(&fetch(&here)).contains("403"), "{sandbox}");
        let settings = format!("exc.sandbox = {sandbox}\nexc.connect = [\"{here}\"]\n");
        let listed = Scene::new(&settings);
        assert!(listed.prints(&fetch(&here)).contains("200"), "{sandbox}");
        let refused = listed.run(&fetch("example.com:443"));
        let said = refused["stderr"].as_str().unwrap();
        assert!(
            said.contains("The sandbox refused a connection to example.com:443"),
            "{refused}"
        );
        let open = Scene::new(&format!("exc.sandbox = {sandbox}\nexc.network = true\n"));
        let direct = format!("exec 3<>/dev/tcp/{} && echo in", here.replace(':', "/"));
        assert_eq!(open.prints(&direct), "in\n", "{sandbox}");
    }
}

#[test]
fn the_directory_of_zot_cannot_be_read() {
    if !has_views() {
        testkit::skip_without(testkit::KernelFeature::Namespaces, "no namespaces");
        return;
    }
    for sandbox in ["true", "\"workspace\"", "\"read-only\""] {
        let scene = Scene::new(&format!("exc.sandbox = {sandbox}\n"));
        let prints = scene.prints("cat zot/auth.json; echo end");
        assert_eq!(prints, "end\n", "{sandbox}");
    }
}

#[test]
fn limits_hold_with_and_without_a_sandbox() {
    for sandbox in ["false", "true"] {
        if sandbox == "true" && !confines() {
            return;
        }
        let settings =
            format!("exc.sandbox = {sandbox}\nexc.open_files = 50\nexc.processor_seconds = 1\n");
        let scene = Scene::new(&settings);
        assert_eq!(scene.prints("ulimit -n"), "50\n", "{sandbox}");
        let busy = scene.run("while :; do :; done");
        assert!(busy["exit_code"].as_i64().unwrap() != 0, "{busy}");
        assert!(
            !busy["stderr"].as_str().unwrap().contains("timed out"),
            "{busy}"
        );
    }
}

#[test]
fn protected_files_of_the_working_directory_stay_as_they_are() {
    if !confines() {
        return;
    }
    let scene = Scene::new("exc.sandbox = \"workspace\"\n");
    let result = scene.run("echo x > .envrc");
    let said = result["stderr"].as_str().unwrap();
    assert!(said.contains(".envrc is protected"), "{result}");
    assert!(!scene.installation.path("work/.envrc").exists());
}

#[test]
fn a_wrong_host_or_path_is_named_at_the_start() {
    if !confines() {
        return;
    }
    for (settings, expected) in [
        (
            "exc.sandbox = true\nexc.connect = [\"a:b:c\"]\n",
            "[exc] connect: \"a:b:c\"",
        ),
        (
            "exc.sandbox = true\nexc.write = [\"/nowhere\"]\n",
            "[exc] write: /nowhere",
        ),
    ] {
        let settings = format!("exc.working_dir = \"work\"\n{settings}");
        let installation = Installation::new("http://127.0.0.1:1/v1", &settings);
        fs::create_dir(installation.path("work")).unwrap();
        let ended = installation.run(&["exc"]);
        assert!(!ended.status.success());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains(expected), "{said}");
    }
}
