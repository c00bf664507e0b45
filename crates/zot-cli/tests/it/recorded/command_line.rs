//! Recordings of single runs: `-p`, `--json`, `--version` and mistakes.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{ModelServer, Pace, Transcript, Wire, Workdir, ZotCommand};

use super::{fixtures, recordings};
use crate::support::binary;

recordings! { replay:
    cli_unknown_flag
    cli_version
    json_error
    json_text
    json_tool
    print_session
    print_text
    print_tool
}

fn replay(name: &str) {
    let workdir = Workdir::with_files(name);
    let server = ModelServer::start();
    let zot = ZotCommand::new(binary(), &workdir);
    let command = match name {
        "cli_unknown_flag" => zot.arguments(["rpc", "--bogus"]),
        "cli_version" => zot.argument("--version"),
        _ => {
            let (flags, prompt): (&[&str], _) = match name {
                "json_error" => (&["--json", "--no-session"], "err:401:nope"),
                "json_text" => (&["--json", "--no-session"], "say:4"),
                "json_tool" => (
                    &["--json", "--no-session"],
                    "tool:bash:{\"command\":\"echo hi\"}",
                ),
                "print_session" => (&["-p"], "say:2"),
                "print_text" => (&["-p", "--no-session"], "say:4"),
                "print_tool" => (
                    &["-p", "--no-session"],
                    "texttool:bash:{\"command\":\"echo hi\"}",
                ),
                other => panic!("no command line for {other}"),
            };
            zot.arguments(flags)
                .model(&server, Wire::OpenAi)
                .argument("--cwd")
                .argument(workdir.path())
                .argument(prompt)
        }
    };
    let mut run = command.run("").transcript;
    if name == "print_session" {
        add_sessions(&mut run, &workdir.zot_home().join("sessions"));
    }
    fixtures().check(&workdir, Pace::Steady, &run);
}

fn add_sessions(run: &mut Transcript, directory: &Path) {
    for path in entries(directory).iter().flat_map(|path| entries(path)) {
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let text = fs::read_to_string(&path).expect("read a session file");
            run.file(&path, &text);
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    paths
}
