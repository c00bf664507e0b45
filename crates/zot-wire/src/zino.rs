//! The protocol of ZINO's services: one request per connection, and a response of one or more frames.
//!
//! A module for each service holds its requests and responses. The original is a Python program, and
//! its leniency about types is part of the protocol ([`lenient`]): requests are decoded by hand, so
//! that a field of another type is accepted or rejected exactly as there. Keys are written in the order
//! the services have always written them: alphabetically, except for `chunk` and `done`.

pub mod agent_loop;
pub mod any_service;
pub mod claims;
pub mod context;
pub mod daemon;
pub mod executor;
mod frame;
pub mod lenient;
pub mod memory;
mod message;
pub mod repeat;
mod request;
mod response;
pub mod router;
pub mod system_prompt;
#[cfg(test)]
mod tests;

pub use frame::Frame;
pub use message::{Content, Message, Messages};
pub use request::{Request, RequestError};
pub use response::{ErrorCode, Failure, Response};
