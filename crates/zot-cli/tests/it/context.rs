//! What requests contain besides the prompt: instructions, skills, templates, mentioned files.
//! Checked on the requests that a model server receives.

mod commands;
mod instructions;
mod mentions;
mod skills;
mod templates;

use std::fs;
use std::path::Path;

use testkit::{Finished, ModelServer, RecordedRequest, Wire, Workdir, ZotCommand};

use crate::support::binary;

/// A working directory and a model.
struct Project {
    server: ModelServer,
    workdir: Workdir,
}

impl Project {
    fn new() -> Self {
        Self {
            server: ModelServer::start(),
            workdir: Workdir::with_files("work"),
        }
    }

    fn write(&self, path: &str, text: &str) {
        self.workdir.write(path, text);
    }

    fn write_home(&self, path: &str, text: &str) {
        write(&self.workdir.zot_home().join(path), text);
    }

    fn write_user(&self, path: &str, text: &str) {
        write(&self.workdir.home().join(path), text);
    }

    /// `zot -p` without a session file.
    fn print(&self, arguments: &[&str]) -> Finished {
        self.piped(arguments, "")
    }

    fn piped(&self, arguments: &[&str], stdin: &str) -> Finished {
        ZotCommand::new(binary(), &self.workdir)
            .model(&self.server, Wire::OpenAi)
            .arguments(["-p", "--no-session"])
            .arguments(arguments)
            .run(stdin)
    }

    /// Runs any other subcommand.
    fn zot(&self, arguments: &[&str]) -> Finished {
        self.command(arguments).run("")
    }

    fn command(&self, arguments: &[&str]) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir).arguments(arguments)
    }

    fn last_request(&self) -> RecordedRequest {
        self.server.requests().pop().expect("a request")
    }

    /// The system prompt of the last request.
    fn system(&self) -> String {
        system_of(&self.last_request())
    }
}

fn system_of(request: &RecordedRequest) -> String {
    let content = request.messages()[0]["content"].as_str();
    content.expect("a system prompt").to_owned()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
