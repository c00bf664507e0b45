//! The requests of one service.

use std::time::Duration;

use super::value::{Counter, Gauge, Histogram};

/// Why a request got no good response, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorLabel {
    /// An error without a code.
    Error,
    StoreUnavailable,
    ChannelBusy,
    Moved,
    NotAllowed,
    /// The request could not be read.
    Refused,
    /// The caller did not wait for the end.
    HungUp,
    /// The service ended without a word.
    NoResponse,
    Draining,
    Full,
    SessionBusy,
    NoSession,
}

impl ErrorLabel {
    pub(super) const ALL: [Self; 12] = [
        Self::Error,
        Self::StoreUnavailable,
        Self::ChannelBusy,
        Self::Moved,
        Self::NotAllowed,
        Self::Refused,
        Self::HungUp,
        Self::NoResponse,
        Self::Draining,
        Self::Full,
        Self::SessionBusy,
        Self::NoSession,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::StoreUnavailable => "store_unavailable",
            Self::ChannelBusy => "channel_busy",
            Self::Moved => "moved",
            Self::NotAllowed => "not_allowed",
            Self::Refused => "refused",
            Self::HungUp => "hung_up",
            Self::NoResponse => "no_response",
            Self::Draining => "draining",
            Self::Full => "full",
            Self::SessionBusy => "session_busy",
            Self::NoSession => "no_session",
        }
    }

    /// The label of an error code; [`Self::Error`] for one of a later version.
    pub fn of_code(code: &str) -> Self {
        let known = Self::ALL.into_iter().find(|label| label.name() == code);
        known.unwrap_or(Self::Error)
    }
}

/// What is counted for one service.
#[derive(Debug, Default)]
pub struct ServiceMetrics {
    pub(super) requests: Counter,
    pub(super) errors: [Counter; ErrorLabel::ALL.len()],
    pub(super) in_flight: Gauge,
    pub(super) capacity: Gauge,
    pub(super) first_frame: Histogram,
}

impl ServiceMetrics {
    pub(super) const fn new() -> Self {
        Self {
            requests: Counter::new(),
            errors: [const { Counter::new() }; ErrorLabel::ALL.len()],
            in_flight: Gauge::new(),
            capacity: Gauge::new(),
            first_frame: Histogram::new(),
        }
    }

    /// Sets how many requests the service handles at a time: from then on it is part of the text.
    pub fn set_capacity(&self, capacity: usize) {
        self.capacity.set(capacity as u64);
    }

    pub fn capacity(&self) -> u64 {
        self.capacity.value()
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight.value()
    }

    /// Counts a request, which is in flight until the result is dropped.
    pub fn begin(&'static self) -> Running {
        self.requests.add_one();
        self.in_flight.raise();
        Running { service: self }
    }

    pub fn record_first_frame(&self, after: Duration) {
        self.first_frame.record(after);
    }

    pub fn count_error(&self, label: ErrorLabel) {
        self.errors[label as usize].add_one();
    }
}

/// A request in flight.
#[derive(Debug)]
pub struct Running {
    service: &'static ServiceMetrics,
}

impl Running {
    pub fn service(&self) -> &'static ServiceMetrics {
        self.service
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.service.in_flight.lower();
    }
}
