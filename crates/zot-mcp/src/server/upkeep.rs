//! What a server that is ready needs: its lists are kept current, and it is listened to.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::{Server, Shared};
use crate::catalog::{Catalog, Listed, fetch_prompts, fetch_resources, fetch_tools};
use crate::connection::{ChangedLists, Connection};
use crate::transport::CallError;
use crate::version::Era;

/// How often lists are fetched again, however often they change.
///
/// Limit: further changes wait.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// The same for lists whose time has run out when they are used.
///
/// Limit: the list is used as it is.
const MIN_STALE_INTERVAL: Duration = Duration::from_secs(30);

/// The pauses before the stream of changes is opened again. Some hosts cut every long stream.
///
/// Limit: after the last one changes are found by their time running out.
const LISTEN_DELAYS: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
];

impl Server {
    /// Fetches lists again when they have changed, or when they are used after their time. Never
    /// returns.
    pub(super) async fn keep_catalog(&self, connection: &Connection) -> Infallible {
        let mut last = None;
        loop {
            let wanted = tokio::select! {
                changed = connection.exchange.next(|news| {
                    let changed = std::mem::take(&mut news.changed);
                    (!changed.is_empty()).then_some(changed)
                }) => changed,
                stale = self.next_stale(last) => stale,
            };
            if let Some(last) = last {
                sleep_until(last + MIN_REFRESH_INTERVAL).await;
            }
            // What has changed meanwhile is fetched at the same time.
            let more = connection.exchange.take_changed();
            self.refresh(connection, wanted | more).await;
            last = Some(Instant::now());
        }
    }

    /// Returns the lists that are used although their time has run out.
    async fn next_stale(&self, last: Option<Instant>) -> ChangedLists {
        loop {
            self.looked.notified().await;
            let now = Instant::now();
            if last.is_some_and(|last| now < last + MIN_STALE_INTERVAL) {
                continue;
            }
            let catalog = Arc::clone(&self.lock().catalog);
            let stale = ChangedLists {
                tools: catalog.tools.is_stale(now),
                prompts: catalog.prompts.is_stale(now),
                resources: catalog.resources.is_stale(now),
            };
            if !stale.is_empty() {
                return stale;
            }
        }
    }

    async fn refresh(&self, connection: &Connection, wanted: ChangedLists) {
        let mut catalog = Catalog::clone(&self.lock().catalog);
        if wanted.tools {
            match fetch_tools(connection).await {
                Ok(tools) => catalog.tools = tools.into(),
                // What is known is better than nothing.
                Err(failure) => self.log.note(&format!("tools/list: {failure}")),
            }
        }
        if wanted.prompts {
            fetch_prompts(connection, &mut catalog).await;
        }
        if wanted.resources {
            fetch_resources(connection, &mut catalog).await;
        }
        let is_new = self.lock().replace(catalog);
        if is_new {
            self.change(|_| {});
        }
    }

    /// Keeps the stream of changes open, which only the modern era has. Never returns.
    pub(super) async fn keep_listening(&self, connection: &Connection) -> Infallible {
        let lists = connection.capabilities.announced();
        if connection.era() == Era::Legacy || lists.is_empty() {
            return pending().await;
        }
        for delay in LISTEN_DELAYS {
            match connection.listen(lists).await {
                Err(CallError::Refused(error)) => {
                    self.log.note(&format!("subscriptions/listen: {error}"));
                    return pending().await;
                }
                Err(error) => self.log.remark(&format!("subscriptions/listen: {error}")),
                Ok(()) => self.log.remark("it ended the stream of changes"),
            }
            sleep(delay).await;
            // Changes may have been missed.
            connection.exchange.mark_changed(lists);
        }
        self.log
            .note("the stream of changes ended too often; it is not opened again");
        pending().await
    }
}

impl Shared {
    /// Takes over new lists; returns whether anything is different. What is the same stays the same object, so that
    /// whatever was made from it stays, too.
    pub(super) fn replace(&mut self, new: Catalog) -> bool {
        let old = &self.catalog;
        let is_same = same(&old.tools, &new.tools)
            && same(&old.prompts, &new.prompts)
            && same(&old.resources, &new.resources)
            && same(&old.templates, &new.templates);
        if is_same {
            // Only the times differ.
            let catalog = Arc::make_mut(&mut self.catalog);
            *catalog = new;
            return false;
        }
        self.catalog = Arc::new(new);
        true
    }
}

fn same<T: PartialEq>(old: &Listed<T>, new: &Listed<T>) -> bool {
    old.items == new.items && old.notes == new.notes
}
