//! Responses to commands.

use std::io;

use serde::Serialize;
use zot_wire::rpc::{RequestId, Response};

use super::Server;
use super::refusal::Refusal;

impl Server {
    pub(super) fn succeed<T: Serialize>(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        data: T,
    ) -> io::Result<()> {
        self.output.push(&Response::success(id, command, data))
    }

    pub(super) fn acknowledge(&mut self, id: Option<RequestId>, command: &str) -> io::Result<()> {
        self.output.push(&Response::acknowledged(id, command))
    }

    pub(super) fn refuse(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        code: &str,
        error: String,
    ) -> io::Result<()> {
        self.output
            .push(&Response::failure(id, command, code, error))
    }

    pub(super) fn respond<T: Serialize>(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        result: Result<T, Refusal>,
    ) -> io::Result<()> {
        match result {
            Ok(data) => self.succeed(id, command, data),
            Err(Refusal { code, error }) => self.refuse(id, command, code, error),
        }
    }

    pub(super) fn respond_empty(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        result: Result<(), Refusal>,
    ) -> io::Result<()> {
        match result {
            Ok(()) => self.acknowledge(id, command),
            Err(Refusal { code, error }) => self.refuse(id, command, code, error),
        }
    }

    /// Refuses a command that could not be started; otherwise its response comes later.
    pub(super) fn respond_later(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        result: Result<(), Refusal>,
    ) -> io::Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(Refusal { code, error }) => self.refuse(id, command, code, error),
        }
    }
}
