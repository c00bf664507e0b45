use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{PgBouncer, Postgres, Shutdown};
use crate::poll_until;

#[test]
fn a_cluster_survives_a_crash_and_leaves_nothing_behind() {
    let mut postgres = Postgres::start();
    let first = postgres.database();
    let second = postgres.database();
    postgres.sql(&first.name, "create table kept (value text)");
    postgres.sql(&first.name, "insert into kept values ('yes')");
    postgres.stop(Shutdown::Immediate);
    postgres.start_again();
    assert_eq!(postgres.sql(&first.name, "select value from kept"), "yes");
    let missing = postgres.sql(&second.name, "select to_regclass('kept') is null");
    assert_eq!(missing, "t");
    let path = postgres.path().to_owned();
    drop(postgres);
    assert!(!path.exists());
}

#[test]
fn a_pool_in_front_answers() {
    let postgres = Postgres::start();
    let database = postgres.database();
    let pool = PgBouncer::start(&postgres, 2);
    let mut psql = Command::new("psql");
    psql.args(["-At", "-c", "select current_database()"])
        .arg(pool.url(&database.name));
    assert_eq!(super::run(&mut psql, ""), database.name);
}

const HELPER: &str = "ZOT_TEST_POSTGRES_HELPER";

/// Runs in a process of its own, which the next test kills.
#[test]
fn helper_that_is_killed() {
    let Some(report) = std::env::var_os(HELPER) else {
        return;
    };
    let postgres = Postgres::start();
    let path = postgres.path().to_string_lossy().into_owned();
    std::fs::write(PathBuf::from(report), path).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_test_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report");
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args(["helper_that_is_killed", "--nocapture"])
        .env(HELPER, &report)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let read = || std::fs::read_to_string(&report).unwrap_or_default();
    poll_until("the cluster has started", || !read().is_empty());
    let cluster = PathBuf::from(read());
    assert!(cluster.exists());
    test.kill().unwrap();
    test.wait().unwrap();
    poll_until("the cluster is gone", || !cluster.exists());
}
