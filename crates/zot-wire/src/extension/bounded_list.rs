//! Lists of limited length.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

/// The most items a list may have. An item of three bytes on the line costs up to a hundred in
/// memory, so that a line full of them would grow to hundreds of megabytes.
///
/// Limit: the frame is refused, and the waiting request fails.
const MAX_LIST_ITEMS: usize = 10_000;

/// A list that is rejected during decoding if it is too long.
pub(super) struct BoundedList<T>(pub(super) Vec<T>);

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = BoundedList<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            if items.len() == MAX_LIST_ITEMS {
                return Err(A::Error::custom(format_args!(
                    "a list may have {MAX_LIST_ITEMS} items at most"
                )));
            }
            items.push(item);
        }
        Ok(BoundedList(items))
    }
}
