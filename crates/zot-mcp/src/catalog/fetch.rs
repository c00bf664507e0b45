//! Fetches lists, page by page, within limits.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::entries::Item;
use super::{Catalog, Listed, ListedTool};
use crate::connection::{Connection, Failure, Params};
use crate::transport::CallError;

/// Limit: further items of a list are left out.
const MAX_LISTED_ITEMS: usize = 1_000;

/// Limit: further pages of a list are left out.
const MAX_LIST_PAGES: usize = 100;

/// How much the kept parts of one list take.
///
/// Limit: further items of a list are left out.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// How many items that were left out are named.
///
/// Limit: the rest is counted.
const MAX_LIST_NOTES: usize = 10;

pub(crate) async fn fetch_tools(connection: &Connection) -> Result<Listed<ListedTool>, Failure> {
    match connection.capabilities.has_tools() {
        true => fetch(connection, "tools/list").await,
        false => Ok(Listed::default()),
    }
}

pub(crate) async fn fetch_prompts(connection: &Connection, catalog: &mut Catalog) {
    if connection.capabilities.has_prompts() {
        catalog.prompts = noted(fetch(connection, "prompts/list").await).into();
    }
}

pub(crate) async fn fetch_resources(connection: &Connection, catalog: &mut Catalog) {
    if connection.capabilities.has_resources() {
        catalog.resources = noted(fetch(connection, "resources/list").await).into();
        catalog.templates = match fetch(connection, "resources/templates/list").await {
            // Many servers have resources and no templates, and do not know the request.
            Err(Failure::Call(CallError::Refused(_))) => Listed::default(),
            fetched => noted(fetched),
        }
        .into();
    }
}

/// Makes a note of a list that could not be had: the tools are there nevertheless.
fn noted<T: Item>(fetched: Result<Listed<T>, Failure>) -> Listed<T> {
    fetched.unwrap_or_else(|failure| Listed {
        notes: vec![format!("{}s: {failure}", T::NOUN)],
        ..Listed::default()
    })
}

async fn fetch<T: Item>(connection: &Connection, method: &str) -> Result<Listed<T>, Failure> {
    let mut list = Listed::default();
    let mut rest = Rest::default();
    let mut bytes = 0;
    let mut cursor: Option<String> = None;
    for page in 0.. {
        if page == MAX_LIST_PAGES {
            rest.stop(&format!("after {MAX_LIST_PAGES} pages"));
            break;
        }
        let params = match &cursor {
            Some(cursor) => Params::new().with("cursor", cursor),
            None => Params::new(),
        };
        let result = connection.request(method, params).await?;
        let fields: BTreeMap<String, &RawValue> = read(method, &result)?;
        if let Some(life) = fields.get("ttlMs")
            && page == 0
            && let Ok(life) = serde_json::from_str(life.get())
        {
            list.set_life(life);
        }
        let items: Vec<&RawValue> = match fields.get(T::FIELD) {
            Some(items) => read(method, items)?,
            None => {
                let message = format!("{method}: the result has no {:?}", T::FIELD);
                return Err(CallError::Invalid(message).into());
            }
        };
        for item in items {
            if list.items.len() == MAX_LISTED_ITEMS {
                rest.stop(&format!("after {MAX_LISTED_ITEMS}"));
                break;
            }
            match T::read(item) {
                Err(error) => rest.leave_out(T::NOUN, &error, &mut list.notes),
                Ok(item) if bytes + item.size() > MAX_LIST_BYTES => {
                    rest.stop(&format!("after {MAX_LIST_BYTES} bytes"));
                    break;
                }
                Ok(item) => {
                    bytes += item.size();
                    list.items.push(item);
                }
            }
        }
        let next = fields
            .get("nextCursor")
            .and_then(|next| serde_json::from_str::<Option<String>>(next.get()).ok())
            .flatten();
        if rest.stopped.is_some() || next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    rest.finish(T::NOUN, &mut list.notes);
    Ok(list)
}

/// What is not in a list although the server has it.
#[derive(Default)]
struct Rest {
    stopped: Option<String>,
    unnamed: usize,
}

impl Rest {
    fn stop(&mut self, why: &str) {
        self.stopped = Some(why.to_owned());
    }

    fn leave_out(&mut self, noun: &str, error: &str, notes: &mut Vec<String>) {
        if notes.len() < MAX_LIST_NOTES {
            notes.push(format!("a {noun} was left out: {}", super::cut(error, 300)));
        } else {
            self.unnamed += 1;
        }
    }

    fn finish(self, noun: &str, notes: &mut Vec<String>) {
        if self.unnamed > 0 {
            notes.push(format!("{} more {noun}s were left out", self.unnamed));
        }
        if let Some(why) = self.stopped {
            notes.push(format!("the list of {noun}s was cut {why}"));
        }
    }
}

fn read<'a, T: serde::Deserialize<'a>>(method: &str, json: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(json.get()).map_err(|error| {
        CallError::Invalid(format!("{method}: the result is not readable: {error}")).into()
    })
}
