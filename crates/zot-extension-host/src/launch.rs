//! Starts the process of an extension.

use std::io;
use std::process::Command;

use tokio::net::unix::pipe;
use zot_process::ProcessGroup;

use crate::extension::Extension;

/// The secret between zot and the program that drives it is nobody else's business.
const RPC_TOKEN: &str = "ZOTCORE_RPC_TOKEN";

/// A running extension and our ends of its standard streams.
pub(crate) struct Process {
    pub(crate) group: ProcessGroup,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
}

pub(crate) fn start(extension: &Extension) -> io::Result<Process> {
    let found = extension.found();
    let (child_stdin, stdin) = io::pipe()?;
    let (stdout, child_stdout) = io::pipe()?;
    let (stderr, child_stderr) = io::pipe()?;
    let mut command = Command::new(found.manifest.program(&found.directory));
    command
        .args(&found.manifest.args)
        .current_dir(&found.directory)
        .env_remove(RPC_TOKEN)
        .stdin(child_stdin)
        .stdout(child_stdout)
        .stderr(child_stderr);
    Ok(Process {
        group: ProcessGroup::spawn(command)?,
        stdin: pipe::Sender::from_owned_fd(stdin.into())?,
        stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
    })
}
