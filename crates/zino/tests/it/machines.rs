//! Several machines, set up as a user would.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind::{Daemon, Memory, Router};

use crate::authority::{Authority, TLS, Validity};
use crate::installation::{Installation, text};
use crate::network::{peer, ports, up};

const NO_MODEL: &str = "http://127.0.0.1:1/v1";

/// Runs the binary, which must succeed, and returns its output.
fn output(installation: &Installation, arguments: &[&str]) -> String {
    let output = installation.run(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// The lines of `[tls]` that `zino certs issue` suggests, as one table in a single line.
fn suggested(output: &str) -> String {
    let (_, lines) = output.split_once("[tls]\n").unwrap();
    let lines = lines.lines().filter(|line| line.contains(" = "));
    lines.map(|line| format!("tls.{line}\n")).collect()
}

#[test]
fn a_client_reaches_a_daemon_on_another_machine() {
    let model = ModelServer::start();
    let server = Installation::new(
        &model.url(Wire::OpenAi),
        "listen.daemon = \"tls://127.0.0.1:0\"\n",
    );
    output(&server, &["certs", "init"]);
    let issued = output(&server, &["certs", "issue", "node-1", "--for", "daemon"]);
    let config = fs::read_to_string(server.path("ZINO.toml")).unwrap();
    fs::write(server.path("ZINO.toml"), config + &suggested(&issued)).unwrap();
    let issued = output(&server, &["certs", "issue", "client"]);
    let process = up(&server, &[], 1);
    let client = Installation::new(
        NO_MODEL,
        &format!(
            "{}{}",
            suggested(&issued),
            peer("daemon", "tls", &ports(&process))
        ),
    );
    fs::create_dir(client.path("certs")).unwrap();
    for name in ["ca.pem", "client.pem", "client.key"] {
        let name = format!("certs/{name}");
        fs::copy(server.path(&name), client.path(&name)).unwrap();
    }
    assert_eq!(output(&client, &["cli", "-s", "say:2"]), "alpha beta \n");
    let shown = output(
        &client,
        &["certs", "show", "certs/client.pem", "certs/ca.pem"],
    );
    assert!(
        shown.contains("names        client.default.zino"),
        "{shown}"
    );
    assert!(shown.contains("(an authority)"), "{shown}");
    let checked = text(&client.run(&["check"]).stdout).to_owned();
    assert!(
        checked.contains("ok   tls      certs/client.pem: client.default.zino"),
        "{checked}"
    );
}

#[test]
fn up_runs_what_is_here_or_what_it_is_told() {
    let more = "listen.mem = \"tcp://127.0.0.1:0\"\npeers.mem = \"tcp://127.0.0.1:1\"\n\
                peers.rtr = \"tcp://127.0.0.1:1\"\n";
    let installation = Installation::new(NO_MODEL, more);
    let process = up(&installation, &[], 1);
    installation.wait_for(Daemon, &process);
    assert!(installation.socket(Memory).exists());
    assert!(!installation.socket(Router).exists());
    drop(process);
    let installation = Installation::new(NO_MODEL, more);
    let process = up(&installation, &["--only", "rtr,mem"], 1);
    installation.wait_for(Router, &process);
    assert!(installation.socket(Memory).exists());
    assert!(!installation.socket(Daemon).exists());
    let unknown = installation.run(&["up", "--only", "rtr,men"]);
    assert_eq!(unknown.status.code(), Some(2));
    let message = text(&unknown.stderr);
    assert!(message.contains("expected one of rtr, sys,"), "{message}");
}

#[test]
fn check_finds_what_is_wrong_with_certificates() {
    let authority = Authority::new();
    let check = |installation: &Installation, expected: &str| {
        let output = installation.run(&["check"]);
        let output = text(&output.stdout);
        assert!(output.contains(expected), "{expected}\n{output}");
    };
    let listening = format!("{TLS}listen.mem = \"tls://127.0.0.1:0\"\n");
    let installation = Installation::new(NO_MODEL, &listening);
    check(&installation, "FAIL tls      cannot read certs/own.pem: ");
    authority.equip_as(&installation, &["mem"], Validity::Expired);
    check(
        &installation,
        "FAIL tls      certs/own.pem: expired on 2021-01-01",
    );
    authority.equip_as(&installation, &["mem"], Validity::Future);
    check(
        &installation,
        "FAIL tls      certs/own.pem: not valid before 2100-01-01",
    );
    authority.equip(&installation, &["ctx"]);
    check(
        &installation,
        "FAIL tls      certs/own.pem has no name mem.default.zino: callers of [listen] mem will refuse it",
    );
    let own = fs::read(installation.path("certs/own.pem")).unwrap();
    Authority::new().equip(&installation, &["mem"]);
    fs::write(installation.path("certs/own.pem"), &own).unwrap();
    check(
        &installation,
        "FAIL tls      certs/own.key is not the key of certs/own.pem",
    );
    authority.equip(&installation, &["mem"]);
    let authority_file = fs::read(installation.path("certs/ca.pem")).unwrap();
    Authority::new().equip(&installation, &["mem"]);
    fs::write(installation.path("certs/ca.pem"), authority_file).unwrap();
    check(
        &installation,
        "FAIL tls      certs/ca.pem has not issued certs/own.pem",
    );
    let key = installation.path("certs/own.key");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let exposed = "certs/own.key can be read by others (mode 640): run chmod 600 certs/own.key";
    check(&installation, &format!("FAIL tls      {exposed}"));
    let refused = installation.run(&["up"]);
    assert_eq!(text(&refused.stderr), format!("zino: [tls]: {exposed}\n"));
    let calling =
        format!("{TLS}peers.mem = \"tls://127.0.0.1:1\"\nlisten.exc = \"tcp://127.0.0.1:0\"\n");
    let installation = Installation::new(NO_MODEL, &calling);
    authority.equip(&installation, &["web"]);
    check(
        &installation,
        "warn tls      certs/own.pem has none of the names that may call mem: daemon.default.zino",
    );
    check(
        &installation,
        "warn exc      listens on tcp://127.0.0.1:0: every user of this machine",
    );
    check(
        &installation,
        "ok   mem      is called at tls://127.0.0.1:1",
    );
}
