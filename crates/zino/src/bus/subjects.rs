//! The subjects of the bus.

#[cfg(test)]
mod tests;

use super::error::BusError;

/// The longest name that may be part of a subject.
///
/// Limit: a longer namespace, profile or identity is refused.
pub(super) const MAX_TOKEN_LENGTH: usize = 64;

/// The subjects of one namespace, and those of this process.
#[derive(Debug, Clone)]
pub(super) struct Subjects {
    root: String,
    identity: String,
    instance: String,
}

impl Subjects {
    /// `identity` is the name that permissions use for this process.
    pub(super) fn new(namespace: &str, identity: &str, instance: &str) -> Result<Self, BusError> {
        check("[bus] namespace", namespace)?;
        check("the identity", identity)?;
        Ok(Self {
            root: format!("zino.{namespace}"),
            identity: identity.to_owned(),
            instance: instance.to_owned(),
        })
    }

    /// Where any instance of a service takes a request.
    pub(super) fn service(&self, service: &str) -> String {
        format!("{}.{service}", self.root)
    }

    /// Where one instance of a service takes a request.
    pub(super) fn directed(&self, service: &str, instance: &str) -> String {
        format!("{}.{service}.i.{instance}", self.root)
    }

    /// Where this process takes what callers send during their calls.
    pub(super) fn control(&self) -> String {
        format!("{}.ctl.{}.{}", self.root, self.identity, self.instance)
    }

    /// Where this process takes responses.
    pub(super) fn inbox(&self) -> String {
        format!("_INBOX_{}.{}", self.identity, self.instance)
    }

    /// Where the instances of a service announce themselves.
    pub(super) fn presence(&self, service: &str) -> String {
        format!("{}.hb.{service}", self.root)
    }

    pub(super) fn all_presence(&self) -> String {
        format!("{}.hb.>", self.root)
    }

    /// Where watchers are told what happens.
    pub(super) fn event(&self, kind: &str, token: &str) -> String {
        format!("{}.ev.{kind}.{token}", self.root)
    }

    pub(super) fn all_events(&self) -> String {
        format!("{}.ev.>", self.root)
    }

    /// The kind and the token of an event's subject.
    pub(super) fn read_event<'a>(&self, subject: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = subject.strip_prefix(&self.root)?.strip_prefix(".ev.")?;
        rest.split_once('.')
    }
}

/// Whether a name can be one token of a subject.
pub(super) fn is_token(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !name.is_empty() && name.len() <= MAX_TOKEN_LENGTH && name.bytes().all(is_allowed)
}

/// Whether a name is one or more tokens with dots between them.
pub(super) fn is_service_name(name: &str) -> bool {
    name.split('.').all(is_token)
}

pub(super) fn check(subject: &'static str, name: &str) -> Result<(), BusError> {
    match is_token(name) {
        true => Ok(()),
        false => Err(BusError::BadName {
            subject,
            name: name.to_owned(),
            most: MAX_TOKEN_LENGTH,
        }),
    }
}
