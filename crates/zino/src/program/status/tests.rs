use std::time::Duration;

use serde_json::{Value, json};

use super::{Health, Overview, Status};
use crate::bus::{BusError, Instance};
use crate::kind::ServiceKind;

fn service(health: Health) -> Status {
    Status {
        kind: ServiceKind::Router,
        address: "run/rtr.sock".to_owned(),
        health,
    }
}

fn instance(
    service: &str,
    in_flight: usize,
    draining: bool,
    store_lag_ms: Option<f64>,
) -> Instance {
    Instance {
        service: service.to_owned(),
        instance: "1f2e3d4c5b6a".to_owned(),
        host: "node-1".to_owned(),
        pid: 4711,
        version: "0.1.0".to_owned(),
        in_flight,
        capacity: 16,
        draining,
        ended: false,
        store_lag_ms,
    }
}

#[test]
fn a_line_for_each_service_and_a_table_of_instances() {
    let overview = Overview {
        services: vec![
            service(Health::Responding {
                latency: Duration::from_micros(250),
                version: None,
            }),
            service(Health::Silent),
        ],
        instances: Some(Ok(vec![
            instance("agent.coder", 3, false, Some(1.25)),
            instance("exc", 12, true, None),
        ])),
    };
    assert_eq!(
        overview.to_string(),
        "\
rtr     answers     0.25 ms  version unknown  run/rtr.sock
rtr     silent  run/rtr.sock

SERVICE      INSTANCE      HOST     PID  VERSION  IN FLIGHT  STATE      STORE
agent.coder  1f2e3d4c5b6a  node-1  4711  0.1.0      3 of 16  serving   1.2 ms
exc          1f2e3d4c5b6a  node-1  4711  0.1.0     12 of 16  draining
"
    );
    assert!(!overview.is_good(), "a service is silent");
    let report: Value = serde_json::from_str(&overview.to_json()).unwrap();
    assert_eq!(
        report["services"][1],
        json!({"service": "rtr", "address": "run/rtr.sock", "state": "silent"})
    );
    assert_eq!(report["services"][0]["latency_ms"], 0.25);
    assert_eq!(report["instances"][1]["draining"], true);
}

#[test]
fn without_a_bus_nothing_is_said_about_it_and_a_lost_one_is_a_failure() {
    let overview = Overview {
        services: Vec::new(),
        instances: None,
    };
    assert_eq!(overview.to_string(), "");
    assert!(overview.is_good());
    let overview = Overview {
        services: Vec::new(),
        instances: Some(Err(BusError::Silent(Duration::from_secs(3)))),
    };
    assert!(overview.to_string().starts_with("bus     down     "));
    assert!(!overview.is_good());
    let report: Value = serde_json::from_str(&overview.to_json()).unwrap();
    assert!(report["bus_error"].is_string());
}
