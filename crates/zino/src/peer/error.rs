//! Why a call failed.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::bus::BusCallError;
use crate::config::address::Address;
use crate::network::failure::TlsFailure;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The request was not handled: no service can be reached.
    #[error(transparent)]
    Unreachable(Unreachable),
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("the response ended too early")]
    EndedEarly,
    #[error("the response cannot be read: {0}")]
    Unreadable(String),
    #[error("no response within {}s", .0.as_secs_f64())]
    Silent(Duration),
    /// The request was sent and must not be sent again.
    #[error("{0}; whether the request was handled is unknown")]
    OutcomeUnknown(LinkError),
    /// The response began, but did not end.
    #[error("{0}, in the middle of the response")]
    Lost(LinkError),
}

impl CallError {
    /// Whether the request may have been handled.
    pub fn is_outcome_unknown(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }

    /// Whether the service was lost on the way, rather than slow or wrong.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::OutcomeUnknown(_))
    }
}

/// Where no service can be reached, and why.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    #[error(transparent)]
    Socket(io::Error),
    /// All addresses of the service, in the order they were tried.
    #[error("{}", AddressErrors(.0))]
    Addresses(Vec<AddressError>),
    #[error(transparent)]
    Bus(BusCallError),
}

/// What happened on the way to a service that had the request.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error(transparent)]
    Address(AddressError),
    #[error(transparent)]
    Bus(BusCallError),
}

/// What happened at one address.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {failure}")]
pub struct AddressError {
    pub address: Address,
    pub failure: AddressFailure,
}

/// Why an address is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AddressFailure {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("no connection within {} s", .0.as_secs_f64())]
    ConnectTimeout(Duration),
    #[error("not tried: another connection just failed there")]
    NotTried,
    #[error("we have no certificate: set [tls] ca, certificate and key")]
    NoIdentity,
    #[error(transparent)]
    Tls(TlsFailure),
    #[error("no sign of life within {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// Noticed by the system, which waits for acknowledgements.
    #[error("the machine does not answer")]
    Vanished,
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("the connection was closed")]
    Closed,
    /// The service has said so before it read the request.
    #[error("it is closing its connections")]
    Closing,
    #[error("the response cannot be read: {0}")]
    Unreadable(String),
}

impl AddressFailure {
    /// The failure behind an error of a connection.
    pub(super) fn of(error: io::Error) -> Self {
        match TlsFailure::of(&error) {
            Some(failure) => Self::Tls(failure),
            // Callers of TLS see a closed connection as an error: it did not say goodbye.
            None if error.kind() == io::ErrorKind::UnexpectedEof => Self::Closed,
            None if error.kind() == io::ErrorKind::TimedOut => Self::Vanished,
            None => Self::Broken(error),
        }
    }
}

struct AddressErrors<'a>(&'a [AddressError]);

impl fmt::Display for AddressErrors<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("; ")?;
            }
            error.fmt(formatter)?;
        }
        Ok(())
    }
}
