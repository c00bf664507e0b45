//! The clients against a server that misbehaves on purpose.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod network;
#[cfg(test)]
mod refresh_catalog;
#[cfg(test)]
mod server;
#[cfg(test)]
mod transport;
