//! `mem` on PostgreSQL as processes, and `zino store`.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::postgres::{Database, Postgres};
use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind::{Daemon, Memory};

use crate::installation::{Installation, next_frame, text};

const UNREACHABLE: &str = "http://127.0.0.1:1/v1";

fn installation(base_url: &str, database: &Database) -> Installation {
    Installation::new(base_url, &format!("[store]\nurl = {:?}\n", database.url))
}

/// Runs `zino`; returns its exit code and everything it printed.
fn run(installation: &Installation, arguments: &[&str]) -> (i32, String) {
    let output = installation.run(arguments);
    let printed = [text(&output.stdout), text(&output.stderr)].concat();
    (output.status.code().unwrap(), printed)
}

#[test]
fn a_directory_is_moved_by_commands() {
    let postgres = Postgres::start();
    let database = postgres.database();
    let installation = installation(UNREACHABLE, &database);
    let place = format!("PostgreSQL at {}:5432/zino_0", postgres.path().display());
    let (code, checked) = run(&installation, &["check"]);
    assert_eq!(code, 1);
    let missing = format!(
        "FAIL store    {place}: the database has no tables of zino: run `zino store migrate`\n"
    );
    assert!(checked.contains(&missing), "{checked}");
    let expect = |arguments: &[&str], code: i32, printed: &str| {
        let printed = printed.replace("PLACE", &place);
        assert_eq!(run(&installation, arguments), (code, printed));
    };
    let created = "PLACE: created the tables (version 2)\n";
    expect(&["store", "migrate"], 0, created);
    let same = "PLACE: the tables are up to date (version 2)\n";
    expect(&["store", "migrate"], 0, same);
    fs::create_dir_all(installation.path("old/channels")).unwrap();
    let history = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"hi\"\n  }\n]";
    fs::write(installation.path("old/channels/ada.json"), history).unwrap();
    let imported = "PLACE: imported 1 channel, 0 memories, no soft memory\n";
    expect(&["store", "import", "old"], 0, imported);
    let refused = "zino: PLACE is not empty: it has 1 channel, 0 memories, no soft memory; \
                   `--replace` deletes them first\n";
    expect(&["store", "import", "old"], 1, refused);
    expect(&["store", "import", "--replace", "old"], 0, imported);
    let contents = "PLACE: 1 channel, 0 memories, no soft memory\n";
    expect(&["store", "check"], 0, contents);
    let (_, checked) = run(&installation, &["check"]);
    assert!(
        checked.contains(&format!("ok   store    {place}: 1 channel")),
        "{checked}"
    );
    let exported = "new: exported 1 channel, 0 memories, no soft memory\n";
    expect(&["store", "export", "new"], 0, exported);
    let written = fs::read_to_string(installation.path("new/channels/ada.json"));
    assert_eq!(written.unwrap(), history);
    let files = Installation::new(UNREACHABLE, "");
    let (code, printed) = run(&files, &["store", "check"]);
    assert_eq!(code, 1);
    let expected = "zino: no database is configured: set [store] url or $ZINO_STORE_URL\n";
    assert_eq!(printed, expected);
}

#[test]
fn sessions_are_listed_and_moved_byte_for_byte() {
    let postgres = Postgres::start();
    let database = postgres.database();
    let installation = installation(UNREACHABLE, &database);
    let place = format!("PostgreSQL at {}:5432/zino_0", postgres.path().display());
    let expect = |arguments: &[&str], printed: &str| {
        let printed = printed.replace("PLACE", &place);
        assert_eq!(run(&installation, arguments), (0, printed));
    };
    assert_eq!(run(&installation, &["store", "migrate"]).0, 0);
    expect(&["sessions"], "");
    let sql = |statements: &str| postgres.sql(&database.name, statements);
    sql(
        "insert into zino_session (id, profile, owner, lease_until, bytes, changed) values
            ('free', 'coder', 'gone', '-infinity', 4, '2026-01-02 03:04:05+00'),
            ('held', 'writer', 'host-1', 'infinity', 0, '2026-01-01 00:00:00+01');
         insert into zino_session_record values
            ('free', 0, '\\x00ff'), ('free', 2, '\\x0a0a')",
    );
    let listed = "free  coder  -  2026-01-02 03:04:05 UTC  4 bytes\n\
                  held  writer  host-1  2025-12-31 23:00:00 UTC  0 bytes\n";
    expect(&["sessions"], listed);
    let contents = "0 channels, 0 memories, no soft memory, 2 sessions";
    expect(&["store", "check"], &format!("PLACE: {contents}\n"));
    expect(
        &["store", "export", "new"],
        &format!("new: exported {contents}\n"),
    );
    let read = |name: &str| fs::read(installation.path(name)).unwrap();
    assert_eq!(read("new/sessions/coder/free.jsonl"), b"\x00\xff\n\n");
    assert_eq!(read("new/sessions/writer/held.jsonl"), b"");
    // More than one row.
    let long = vec![b'x'; 5 * 1024 * 1024];
    fs::write(installation.path("new/sessions/coder/long.jsonl"), &long).unwrap();
    let contents = contents.replace('2', "3");
    let imported = format!("PLACE: imported {contents}\n");
    expect(&["store", "import", "--replace", "new"], &imported);
    assert_eq!(
        sql("select count(*) from zino_session_record where session = 'long'"),
        "2"
    );
    expect(
        &["store", "export", "again"],
        &format!("again: exported {contents}\n"),
    );
    assert_eq!(read("again/sessions/coder/free.jsonl"), b"\x00\xff\n\n");
    assert!(read("again/sessions/coder/long.jsonl") == long);
    // It is not empty any more.
    let (code, printed) = run(&installation, &["store", "import", "again"]);
    assert_eq!(code, 1);
    assert!(printed.contains("3 sessions"), "{printed}");
    sql("update zino_session set id = '../free' where id = 'free'");
    let (code, printed) = run(&installation, &["store", "export", "third"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains("cannot be the name of a file"),
        "{printed}"
    );
}

#[test]
fn the_variable_wins_over_the_file() {
    let postgres = Postgres::start();
    let installation = Installation::new(
        UNREACHABLE,
        "[store]\nurl = \"postgres://user:secret@db.invalid/zino?sslmode=disable\"\n",
    );
    let mut command = installation.command(&["store", "migrate"]);
    command.env("ZINO_STORE_URL", postgres.database().url);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (code, printed) = run(&installation, &["store", "check"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains("PostgreSQL at db.invalid:5432/zino: "),
        "{printed}"
    );
    assert!(!printed.contains("secret"), "{printed}");
}

#[test]
fn turns_are_stored_and_a_service_that_ends_releases_its_channels() {
    let postgres = Postgres::start();
    let database = postgres.database();
    let model = ModelServer::start();
    let first = installation(&model.url(Wire::OpenAi), &database);
    let second = installation(UNREACHABLE, &database);
    assert_eq!(run(&first, &["store", "migrate"]).0, 0);
    let mut up = first.up();
    let other = second.start(Memory);
    let turn = json!({ "message": "text:hello", "channel_id": "ada" });
    let frames = first.ask(Daemon, &turn);
    assert_eq!(frames.last().unwrap().get("unsaved"), None, "{frames:?}");
    let history = json!({ "type": "get_history", "channel_id": "ada" });
    let stored = second.ask_one(Memory, &history);
    assert_eq!(stored["messages"][0]["content"], "text:hello");
    assert_eq!(stored["messages"].as_array().unwrap().len(), 2);
    let owner = || postgres.sql(&database.name, "select owner from zino_channel");
    assert_eq!(owner(), "");

    let hold = |owner: &str| json!({ "type": "hold_channel", "channel_id": "ada", "owner": owner });
    let mut held = first.begin(Memory, &hold("me"));
    assert_eq!(next_frame(&mut held).unwrap()["type"], "held");
    assert_eq!(owner(), "me");
    up.signal(Signal::TERM);
    up.wait();
    assert_eq!(owner(), "");
    let mut held = second.begin(Memory, &hold("you"));
    let granted: Value = next_frame(&mut held).unwrap();
    assert_eq!(granted["type"], "held");
    drop(other);
    assert!(!first.path("data/mem").exists());
}
