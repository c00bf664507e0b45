//! How waits and lives end: aborts, readers that go away, last words.

use std::time::Duration;

use serde_json::json;
use testkit::{ScriptedExtension, Signal, Wire, ZotCommand};

use super::Extended;
use crate::support::binary;

fn mute_command() -> ScriptedExtension {
    let register = json!({"type": "register_command", "name": "mute", "description": ""});
    ScriptedExtension::new("probe", [register])
}

#[test]
fn a_reader_that_goes_away_ends_zot_although_extensions_run() {
    let run = Extended::start(&[mute_command()]);
    let Extended {
        workdir,
        server,
        installed,
        zot,
    } = run;
    drop(zot);
    let command = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi);
    let (mut zot, stdout) = command.extensions(&installed).spawn_unread();
    drop(stdout);
    zot.send(json!({"id": "1", "type": "get_commands"}));
    zot.send(json!({"id": "2", "type": "ping"}));
    let finished = zot.wait(Duration::from_secs(10));
    assert_eq!(finished.code, Some(1));
}

#[test]
fn a_signal_ends_zot_when_nobody_reads_and_an_extension_runs() {
    let run = Extended::start(&[mute_command()]);
    let Extended {
        workdir,
        server,
        installed,
        zot,
    } = run;
    drop(zot);
    let command = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi);
    let (zot, stdout) = command.extensions(&installed).spawn_unread();
    drop(stdout);
    zot.signal(Signal::TERM);
    zot.wait(Duration::from_secs(10));
}

#[test]
fn an_abort_cuts_a_command_short() {
    let mut run = Extended::start(&[mute_command()]);
    run.zot.call(json!({"id": "0", "type": "get_commands"}));
    run.zot
        .send(json!({"id": "1", "type": "invoke_command", "name": "mute"}));
    run.installed[0].wait_until_received("command_invoked", 1);
    run.zot.send(json!({"id": "2", "type": "abort"}));
    let answer = run.zot.wait_for(|frame| frame["id"] == "1");
    assert_eq!(answer["code"], "aborted", "{answer}");
}

#[test]
fn an_abort_cuts_a_reload_short_and_the_old_ones_run_on() {
    let mut run = Extended::start(&[mute_command()]);
    run.zot.call(json!({"id": "0", "type": "get_commands"}));
    ScriptedExtension::starting_with("probe", [json!({"sleep": 60})])
        .install(&run.workdir.extensions());
    run.zot.send(json!({"id": "1", "type": "reload_ext"}));
    run.zot.call(json!({"id": "p", "type": "ping"}));
    run.zot.send(json!({"id": "2", "type": "abort"}));
    let answer = run.zot.wait_for(|frame| frame["id"] == "1");
    assert_eq!(answer["success"], false, "{answer}");
    let commands = run.zot.call(json!({"id": "3", "type": "get_commands"}));
    assert_eq!(commands["data"]["commands"][0]["name"], "mute");
}

#[test]
fn what_an_extension_says_at_its_end_is_passed_on() {
    let farewell = json!({"type": "notify", "level": "info", "message": "good-bye"});
    let mut run = Extended::start(&[mute_command().script("at_shutdown", json!([farewell]))]);
    run.zot.call(json!({"id": "0", "type": "get_commands"}));
    run.zot.close_stdin();
    let notice = run.zot.event("ext_notify");
    assert_eq!(notice["message"], "good-bye");
}

#[test]
fn a_reload_finds_the_first_extension_and_minds_no_broken_one() {
    let (workdir, server) = (
        testkit::Workdir::with_files("work"),
        testkit::ModelServer::start(),
    );
    let mut zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi).spawn();
    let none = zot.call(json!({"id": "0", "type": "get_commands"}));
    assert_eq!(none["data"]["commands"], json!([]));
    let directory = workdir.path().join(".zot").join("extensions");
    std::fs::create_dir_all(&directory).unwrap();
    mute_command().install(&directory);
    let first = zot.call(json!({"id": "1", "type": "reload_ext"}));
    assert_eq!(first["data"]["extensions"][0]["name"], "probe", "{first}");
}
