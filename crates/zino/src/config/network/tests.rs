use super::super::Loaded;
use super::*;

const FILES: &str = "[tls]\nca = \"ca.pem\"\ncertificate = \"a.pem\"\nkey = \"a.key\"\n";

fn parse(text: &str) -> Config {
    let Loaded { config, warnings } = Config::parse(text).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    config
}

fn shown(config: &Config, kind: ServiceKind) -> Vec<String> {
    let addresses = config.peer_addresses(kind).unwrap_or_default();
    addresses.iter().map(Address::to_string).collect()
}

#[test]
fn without_the_sections_everything_runs_here() {
    let config = parse("");
    assert_eq!(config.services_here(), ServiceKind::ALL);
    assert!(!config.uses_tls());
    for kind in ServiceKind::ALL {
        assert_eq!(config.listen_address(kind), None);
        assert_eq!(config.peer_addresses(kind), None);
    }
}

#[test]
fn a_peer_has_one_address_or_several() {
    let config = parse(&format!(
        "{FILES}[peers]\nmem = [\"tls://mem-1:7443\", \"tls://mem-2:7443\"]\n\
         rtr = \"unix:///run/zino/rtr.sock\"\n[listen]\nagr = \"tls://0.0.0.0:7444\"\n"
    ));
    assert_eq!(
        shown(&config, ServiceKind::Memory),
        ["tls://mem-1:7443", "tls://mem-2:7443"]
    );
    assert_eq!(
        shown(&config, ServiceKind::Router),
        ["unix:///run/zino/rtr.sock"]
    );
    let listen = config.listen_address(ServiceKind::AgentLoop).unwrap();
    assert_eq!(listen.to_string(), "tls://0.0.0.0:7444");
}

#[test]
fn what_is_called_elsewhere_runs_here_only_if_it_listens() {
    let config = parse(&format!(
        "{FILES}[peers]\nmem = \"tls://mem-1:7443\"\nexc = \"tls://exc:7443\"\n\
         [listen]\nexc = \"tls://0.0.0.0:7443\"\n"
    ));
    let names: Vec<&str> = config
        .services_here()
        .into_iter()
        .map(ServiceKind::name)
        .collect();
    assert_eq!(names, ["rtr", "sys", "exc", "ctx", "agr", "daemon"]);
}

#[test]
fn allow_replaces_the_row_of_a_service() {
    let config = parse(
        "[allow]\ndaemon = [\"client\", \"web\", \"ops.other.zino\"]\nexc = []\n\
         [tls]\nnamespace = \"prod\"\n",
    );
    assert_eq!(
        config.callers(ServiceKind::Daemon),
        ["client.prod.zino", "web.prod.zino", "ops.other.zino"]
    );
    assert_eq!(config.callers(ServiceKind::Executor), Vec::<String>::new());
    assert_eq!(
        config.callers(ServiceKind::Memory),
        ["daemon.prod.zino", "ctx.prod.zino"]
    );
}

#[test]
fn what_is_wrong_is_named_with_its_section() {
    for (text, expected) in [
        (
            "[peers]\nmem = \"tls://mem-1:7443\"\n",
            "[peers] mem = \"tls://mem-1:7443\" needs [tls] ca, certificate, key",
        ),
        (
            "[listen]\nmem = \"tls://0.0.0.0:7443\"\n[tls]\nca = \"x\"\nkey = \"y\"\n",
            "[listen] mem = \"tls://0.0.0.0:7443\" needs [tls] certificate",
        ),
        (
            "[peers]\nmem = []\n",
            "[peers] mem: the list of addresses is empty",
        ),
        (
            "[peers]\nmem = 5\n",
            "[peers] mem: expected a string or a list",
        ),
        (
            "[peers]\nmem = [5]\n",
            "[peers] mem: expected strings in the list",
        ),
        (
            "[listen]\nmem = [\"tls://a:1\"]\n",
            "[listen] mem: expected a string",
        ),
        (
            "[listen]\nmem = \"tcp://0.0.0.0:1\"\n",
            "plain TCP is only for this machine",
        ),
        (
            "[allow]\nmem = \"No Name\"\n",
            "[allow] mem: \"No Name\" is not a name",
        ),
        (
            "[tls]\nnamespace = \"a.b\"\n",
            "[tls] namespace \"a.b\" must consist of",
        ),
    ] {
        let error = Config::parse(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_misspelt_service_yields_a_warning() {
    let text = "[peers]\nmen = \"unix:///run/zino/mem.sock\"\n[allow]\nclient = \"x\"\n";
    let warnings = Config::parse(text).unwrap().warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("[allow]"), "{warnings:?}");
    assert!(
        warnings[1].contains("did you mean \"mem\"?"),
        "{warnings:?}"
    );
}
