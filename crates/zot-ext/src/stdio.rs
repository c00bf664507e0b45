//! Takes over standard input and output for the protocol.
//!
//! The protocol gets copies of both; then standard output leads to standard error and standard
//! input to nowhere. A `println!` in a handler, a library that prints, and a child process that
//! inherits the streams can neither write into the protocol nor read from it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

type Input = Pin<Box<dyn AsyncRead>>;
type Output = Pin<Box<dyn AsyncWrite>>;

pub(crate) fn take() -> io::Result<(Input, Output)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((reader(input)?, writer(output)?))
}

/// A pipe is not shared, so it may become non-blocking; anything else, such as a terminal or a file,
/// may be shared and is read by a thread.
fn reader(input: OwnedFd) -> io::Result<Input> {
    let copy = input.try_clone()?;
    Ok(match pipe::Receiver::from_owned_fd(input) {
        Ok(pipe) => Box::pin(pipe),
        Err(_) => Box::pin(tokio::fs::File::from_std(copy.into())),
    })
}

fn writer(output: OwnedFd) -> io::Result<Output> {
    let copy = output.try_clone()?;
    Ok(match pipe::Sender::from_owned_fd(output) {
        Ok(pipe) => Box::pin(pipe),
        Err(_) => Box::pin(tokio::fs::File::from_std(copy.into())),
    })
}
