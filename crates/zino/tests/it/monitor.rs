//! `/metrics`, `/healthz` and `/readyz`, read as Prometheus and Kubernetes read them.

mod prometheus;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};

use rustix::process::Signal;
use serde_json::json;
use testkit::postgres::{Postgres, Shutdown as DatabaseEnd};
use zino::kind::ServiceKind;

use crate::installation::{Installation, Process, eventually, text};
use crate::stack::TEST_TIMEOUT;

use prometheus::Scrape;

/// The offline model, and a monitor on a free port.
const SETTINGS: &str = "api.provider = \"offline\"\nmetrics.listen = \"127.0.0.1:0\"\n";

pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

pub(crate) fn get(address: SocketAddr, path: &str) -> HttpResponse {
    request(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    )
}

fn request(address: SocketAddr, request: &str) -> HttpResponse {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let _ = stream.shutdown(Shutdown::Both);
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    HttpResponse {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

/// The address that the process says it serves.
pub(crate) fn monitor_of(process: &Process) -> SocketAddr {
    let mut found = None;
    eventually("the monitor listens", || {
        let log = process.log();
        let line = log
            .lines()
            .find(|line| line.contains("zino.metrics: listening on"));
        found = line.and_then(|line| line.split("http://").nth(1)?.parse().ok());
        found.is_some()
    });
    found.unwrap()
}

pub(crate) fn scrape(address: SocketAddr) -> Scrape {
    let response = get(address, "/metrics");
    assert_eq!(response.status, 200);
    assert!(
        response
            .head
            .contains("content-type: text/plain; version=0.0.4; charset=utf-8")
    );
    Scrape::parse(&response.body)
}

#[test]
fn requests_are_counted_as_prometheus_reads_them() {
    let installation = Installation::new("", SETTINGS);
    let process = installation.up();
    let monitor = monitor_of(&process);
    let before = scrape(monitor);
    let expected_services = ServiceKind::ALL.map(|kind| kind.name().to_owned());
    assert_eq!(
        before.labels("zino_capacity", "service"),
        sorted(&expected_services)
    );
    assert_eq!(
        before.value("zino_requests_total", &[("service", "agr")]),
        0.0
    );
    assert_eq!(before.value("zino_capacity", &[("service", "exc")]), 16.0);

    for _ in 0..3 {
        let request = json!({"message": "run: echo hello", "channel_id": "ada"});
        installation.ask_one(ServiceKind::Daemon, &request);
    }
    let failed = json!({"type": "append_history", "channel_id": "ada", "messages": [{}]});
    installation.ask_one(ServiceKind::Memory, &failed);
    installation.exchange(ServiceKind::Memory, b"\0\0\0\x02no");

    let after = scrape(monitor);
    let value = |name: &str, service: &str| after.value(name, &[("service", service)]);
    assert_eq!(value("zino_requests_total", "daemon"), 3.0);
    assert_eq!(
        value("zino_requests_total", "agr"),
        3.0,
        "also within the process"
    );
    assert_eq!(value("zino_requests_total", "exc"), 3.0);
    assert_eq!(value("zino_first_frame_seconds_count", "rtr"), 6.0);
    assert_eq!(value("zino_in_flight", "daemon"), 0.0);
    let errors = |code| after.value("zino_errors_total", &[("service", "mem"), ("code", code)]);
    assert_eq!(errors("error"), 1.0);
    assert_eq!(errors("refused"), 1.0);
    assert_eq!(errors("moved"), 0.0);
    assert_eq!(after.value("zino_append_seconds_count", &[]), 3.0);
    assert_eq!(after.value("zino_draining", &[]), 0.0);
}

#[test]
fn a_request_is_in_flight_until_its_caller_hangs_up() {
    let installation = Installation::new("", SETTINGS);
    let process = installation.start(ServiceKind::Executor);
    let monitor = monitor_of(&process);
    let in_flight = || scrape(monitor).value("zino_in_flight", &[("service", "exc")]);
    let code = json!({"type": "execute", "executor": "bash", "code": "sleep 60"});
    let call = installation.begin(ServiceKind::Executor, &code);
    eventually("the program runs", || in_flight() == 1.0);
    assert_eq!(scrape(monitor).labels("zino_capacity", "service"), ["exc"]);
    drop(call);
    eventually("it has ended", || in_flight() == 0.0);
    let labels = [("service", "exc"), ("code", "hung_up")];
    eventually("it is counted", || {
        scrape(monitor).value("zino_errors_total", &labels) == 1.0
    });
}

#[test]
fn probes_answer_and_everything_else_is_refused() {
    let installation = Installation::new("", SETTINGS);
    let process = installation.start(ServiceKind::SystemPrompt);
    let monitor = monitor_of(&process);
    for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let response = get(monitor, path);
        assert_eq!(
            (response.status, response.body.as_str()),
            (200, body),
            "{path}"
        );
    }
    assert_eq!(get(monitor, "/").status, 404);
    assert_eq!(get(monitor, "/metrics/").status, 404);
    let post = "POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(request(monitor, post).status, 405);
}

#[test]
fn a_process_that_drains_is_not_ready() {
    let installation = Installation::new("", &format!("{SETTINGS}wire.drain_timeout = 60\n"));
    let mut process = installation.start(ServiceKind::Executor);
    let monitor = monitor_of(&process);
    let go = installation.path("go");
    let code = format!(
        "until [ -e {} ]; do sleep 0.01; done; echo gone",
        go.display()
    );
    let request = json!({"type": "execute", "executor": "bash", "code": code});
    let call = installation.begin(ServiceKind::Executor, &request);
    eventually("the program runs", || {
        scrape(monitor).value("zino_in_flight", &[("service", "exc")]) == 1.0
    });
    process.signal(Signal::TERM);
    eventually("it drains", || get(monitor, "/readyz").status == 503);
    assert_eq!(get(monitor, "/readyz").body, "draining\n");
    assert_eq!(get(monitor, "/healthz").status, 200);
    assert_eq!(scrape(monitor).value("zino_draining", &[]), 1.0);
    fs::write(go, "").unwrap();
    let frames = crate::installation::frames(call);
    assert_eq!(frames[0]["stdout"], "gone\n");
    assert!(process.wait().success());
    assert!(TcpStream::connect(monitor).is_err());
}

#[test]
fn without_its_database_mem_is_not_ready() {
    let mut postgres = Postgres::start();
    let url = postgres.database().url;
    let settings = format!("{SETTINGS}store.url = \"{url}\"\n");
    let installation = Installation::new("", &settings);
    let process = installation.start(ServiceKind::Memory);
    let monitor = monitor_of(&process);
    let unready = get(monitor, "/readyz");
    assert_eq!(unready.status, 503);
    assert!(
        unready.body.contains("zino store migrate"),
        "{}",
        unready.body
    );
    assert!(installation.run(&["store", "migrate"]).status.success());
    eventually("it is ready", || get(monitor, "/readyz").status == 200);
    postgres.stop(DatabaseEnd::Immediate);
    let unready = get(monitor, "/readyz");
    assert_eq!(unready.status, 503);
    assert!(unready.body.contains("PostgreSQL at"), "{}", unready.body);
    postgres.start_again();
    eventually("it is ready again", || {
        get(monitor, "/readyz").status == 200
    });
}

#[test]
fn an_address_that_is_taken_is_an_error_and_a_public_one_a_warning() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let settings = format!("api.provider = \"offline\"\nmetrics.listen = \"{address}\"\n");
    let installation = Installation::new("", &settings);
    let output = installation.run(&["sys"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!("zino: [metrics] cannot listen on {address}: ");
    assert!(
        text(&output.stderr).contains(&expected),
        "{}",
        text(&output.stderr)
    );
    let checked = |listen: &str| {
        let settings = format!("api.provider = \"offline\"\nmetrics.listen = \"{listen}\"\n");
        let output = Installation::new("", &settings).run(&["check"]);
        let printed = text(&output.stdout).to_owned();
        let line = printed.lines().find(|line| line.contains(" metrics "));
        line.unwrap().to_owned()
    };
    assert!(checked("127.0.0.1:9090").starts_with("ok "));
    assert!(checked("0.0.0.0:9090").starts_with("warn "));
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names
}
