//! Readers that close standard output as soon as they have their answer, as the original's
//! reference clients do.

use std::io::{BufRead as _, BufReader};
use std::process::ChildStdout;
use std::time::Duration;

use serde_json::json;
use testkit::{
    Finished, ModelServer, ScriptedExtension, Wire, Workdir, Zot, ZotCommand, poll_until,
};

use crate::support::binary;

const ENDING: Duration = Duration::from_secs(30);

/// Reads until a line contains `part`, then closes.
fn read_until(stdout: ChildStdout, part: &str) {
    let mut lines = BufReader::new(stdout).lines();
    let found = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(part)));
    assert!(found.is_some(), "{part} never came");
}

fn assert_silent(ended: &Finished) {
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

fn assert_told(ended: &Finished) {
    let expected = "zot: standard output was closed by its reader\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), expected));
}

/// Returns an extension that sends a notice when it shuts down.
fn last_words() -> ScriptedExtension {
    let notify = json!({"type": "notify", "level": "info", "message": "good bye"});
    ScriptedExtension::new("probe", []).script("at_shutdown", json!([notify]))
}

fn rpc(server: &ModelServer, workdir: &Workdir) -> (Zot, ChildStdout) {
    ZotCommand::rpc(binary(), workdir, server, Wire::OpenAi).spawn_unread()
}

#[test]
fn an_rpc_client_may_close_after_done() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    // With standard input open, and closed afterwards.
    let (mut zot, stdout) = rpc(&server, &workdir);
    zot.prompt("1", "say:3");
    read_until(stdout, "\"done\"");
    assert_silent(&zot.wait(ENDING));

    let (mut zot, stdout) = rpc(&server, &workdir);
    zot.prompt("1", "say:3");
    read_until(stdout, "\"done\"");
    assert_silent(&zot.finish());

    // With standard input closed before.
    let (mut zot, stdout) = rpc(&server, &workdir);
    zot.prompt("1", "say:3");
    zot.close_stdin();
    read_until(stdout, "\"done\"");
    assert_silent(&zot.wait(ENDING));

    // Responses to later commands that start no work may be lost.
    let (mut zot, stdout) = rpc(&server, &workdir);
    zot.prompt("1", "say:3");
    read_until(stdout, "\"done\"");
    zot.send(json!({"id": "2", "type": "get_state"}));
    assert_silent(&zot.finish());
}

#[test]
fn an_rpc_client_that_closes_before_done_is_an_error() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let (mut zot, stdout) = rpc(&server, &workdir);
    zot.prompt("1", "slow:10000:10");
    read_until(stdout, "text_delta");
    assert_told(&zot.wait(ENDING));

    // The second of two.
    let (mut zot, stdout) = rpc(&server, &workdir);
    zot.prompt("1", "say:3");
    zot.prompt("2", "slow:10000:10");
    read_until(stdout, "\"done\"");
    assert_told(&zot.wait(ENDING));

    // A client that never got anything.
    let (zot, stdout) = rpc(&server, &workdir);
    drop(stdout);
    assert_told(&zot.wait(ENDING));
}

#[test]
fn late_notices_of_extensions_may_be_lost() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let installed = [last_words().install(&workdir.extensions())];
    let command = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi);
    let (mut zot, stdout) = command.extensions(&installed).spawn_unread();
    zot.prompt("1", "say:3");
    read_until(stdout, "\"done\"");
    let ended = zot.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains("closed by its reader"),
        "{}",
        ended.stderr
    );

    let command = ZotCommand::new(binary(), &workdir)
        .model(&server, Wire::OpenAi)
        .arguments(["--json", "-n", "say:3"]);
    let (zot, stdout) = command.extensions(&installed).spawn_unread();
    read_until(stdout, "\"done\"");
    let ended = zot.wait(ENDING);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains("closed by its reader"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_reader_may_close_once_a_single_run_has_written_everything() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    for (mode, part) in [("-p", "gamm"), ("--json", "\"done\"")] {
        let command = ZotCommand::new(binary(), &workdir)
            .model(&server, Wire::OpenAi)
            .arguments([mode, "-n", "say:3"]);
        let (zot, stdout) = command.spawn_unread();
        read_until(stdout, part);
        assert_silent(&zot.wait(ENDING));
        let command = ZotCommand::new(binary(), &workdir)
            .model(&server, Wire::OpenAi)
            .arguments([mode, "-n", "hang"]);
        let (zot, stdout) = command.spawn_unread();
        poll_until("the request arrives", || {
            server.responses_in_progress() == 1
        });
        drop(stdout);
        assert_told(&zot.wait(ENDING));
        poll_until("the request is given up", || {
            server.responses_in_progress() == 0
        });
    }
}

/// A reader that waits for the end of the work does not wait for extensions to exit.
#[test]
fn done_and_the_answer_come_before_extensions_end() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let waits = json!([{"wait_for": "go"}]);
    let slow = ScriptedExtension::new("slow", []).script("at_shutdown", waits);
    let installed = [slow.install(&workdir.extensions())];
    for (mode, part) in [("-p", "gamm"), ("--json", "\"done\"")] {
        let command = ZotCommand::new(binary(), &workdir)
            .model(&server, Wire::OpenAi)
            .arguments([mode, "-n", "say:3"]);
        let (zot, stdout) = command.extensions(&installed).spawn_unread();
        read_until(stdout, part);
        let notes = installed[0].notes().join("\n");
        assert!(!notes.contains("SIGTERM"), "it was waited for: {notes}");
        installed[0].release("go");
        assert_eq!(zot.wait(ENDING).code, Some(0));
        installed[0].remove("go");
    }
}
