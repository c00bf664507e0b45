//! The record of hosts that children wanted to connect to.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::sandbox::host::{ConnectRule, Host, Target};

/// How many allowed hosts a record keeps, and how many refused ones. They are counted apart, so that a
/// child cannot hide where it was by asking for many hosts that are refused.
///
/// Limit: the host that was contacted longest ago is forgotten, and counted.
const MAX_CONTACTS: usize = 128;

/// A host that a child wanted to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// As rules write it: a name in lower case, or an address, that of IPv6 in brackets.
    pub host: String,
    pub port: u16,
    pub is_allowed: bool,
    /// The address for which an allowed name was refused because it is not public.
    pub private_address: Option<IpAddr>,
    /// How often it was contacted.
    pub times: u64,
    pub first: SystemTime,
    pub last: SystemTime,
}

impl Contact {
    pub(crate) fn new(target: &Target, is_allowed: bool) -> Self {
        let now = SystemTime::now();
        Self {
            host: target.host.to_string(),
            port: target.port,
            is_allowed,
            private_address: None,
            times: 1,
            first: now,
            last: now,
        }
    }

    /// Returns the rule that would allow it: for a private address, one that names the address.
    pub fn rule(&self) -> Option<ConnectRule> {
        if let Some(address) = self.private_address {
            let host = Host::Address(address.to_canonical());
            let port = self.port;
            return Some(Target { host, port }.rule());
        }
        let target = Target::parse(&self.host, Some(self.port)).ok()?;
        Some(target.rule())
    }

    fn is_same(&self, other: &Self) -> bool {
        self.host == other.host
            && self.port == other.port
            && self.is_allowed == other.is_allowed
            && self.private_address == other.private_address
    }
}

/// The hosts that children contacted, each once, with a limit on their number. Clones share the record.
#[derive(Debug, Clone, Default)]
pub struct ContactLog(Arc<Mutex<Record>>);

/// A moment in a [`ContactLog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContactMark(u64);

#[derive(Debug, Default)]
struct Record {
    /// By the time of the last contact, each with the number of that contact.
    contacts: VecDeque<(u64, Contact)>,
    next: u64,
    forgotten: u64,
}

impl ContactLog {
    /// Returns the present moment.
    pub fn mark(&self) -> ContactMark {
        ContactMark(self.record().next)
    }

    /// Returns what was refused since `mark`, each host once. What was also refused before counts.
    pub fn refused_since(&self, mark: ContactMark) -> Vec<Contact> {
        let record = self.record();
        let recent = record
            .contacts
            .iter()
            .filter(|(number, contact)| *number >= mark.0 && !contact.is_allowed);
        recent.map(|(_, contact)| contact.clone()).collect()
    }

    /// Returns every host, that of the latest contact last.
    pub fn all(&self) -> Vec<Contact> {
        let record = self.record();
        record
            .contacts
            .iter()
            .map(|(_, contact)| contact.clone())
            .collect()
    }

    /// Returns how many hosts were forgotten because there were too many.
    pub fn forgotten(&self) -> u64 {
        self.record().forgotten
    }

    /// Adds a contact, or counts it if the same one is known.
    pub fn add(&self, mut contact: Contact) {
        let mut record = self.record();
        let known = record
            .contacts
            .iter()
            .position(|(_, known)| known.is_same(&contact));
        if let Some((_, known)) = known.and_then(|index| record.contacts.remove(index)) {
            contact.times = known.times.saturating_add(contact.times);
            contact.first = known.first;
        } else {
            let is_alike = |(_, known): &&(u64, Contact)| known.is_allowed == contact.is_allowed;
            if record.contacts.iter().filter(is_alike).count() >= MAX_CONTACTS {
                let oldest = record.contacts.iter().position(|known| is_alike(&known));
                oldest.and_then(|index| record.contacts.remove(index));
                record.forgotten += 1;
            }
        }
        let number = record.next;
        record.next += 1;
        record.contacts.push_back((number, contact));
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
