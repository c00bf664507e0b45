//! How waits end and extensions exit: aborts, closed readers, last notices.

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
fn closing_the_output_ends_zot_while_extensions_run() {
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
fn a_signal_ends_zot_with_unread_output_and_a_running_extension() {
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
fn an_abort_ends_a_command() {
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
fn an_abort_ends_a_reload_and_keeps_the_old_extensions() {
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
fn the_last_notices_of_an_extension_are_forwarded() {
    let farewell = json!({"type": "notify", "level": "info", "message": "good-bye"});
    let mut run = Extended::start(&[mute_command().script("at_shutdown", json!([farewell]))]);
    run.zot.call(json!({"id": "0", "type": "get_commands"}));
    run.zot.close_stdin();
    let notice = run.zot.event("ext_notify");
    assert_eq!(notice["message"], "good-bye");
}

#[test]
fn a_reload_finds_new_extensions_despite_broken_ones() {
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
