//! Messages of a conversation.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message, shared by reference count, so that clones are cheap.
///
/// Services forward messages without examining them, `agr` even values that are not messages, and `mem`
/// keeps unknown keys. So anything but a `role` and a `content` that are both strings stays the original
/// value.
#[derive(Debug, Clone)]
pub struct Message(Arc<Body>);

#[derive(Debug, PartialEq)]
enum Body {
    Plain {
        role: Cow<'static, str>,
        content: String,
    },
    Other(Value),
}

/// The `content` of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content<'a> {
    /// Absent or `null`.
    Nothing,
    Text(&'a str),
    Parts(&'a [Value]),
    Other,
}

impl Message {
    pub fn new(role: &'static str, content: impl Into<String>) -> Self {
        Self(Arc::new(Body::Plain {
            role: Cow::Borrowed(role),
            content: content.into(),
        }))
    }

    pub fn is_object(&self) -> bool {
        matches!(*self.0, Body::Plain { .. } | Body::Other(Value::Object(_)))
    }

    /// The `role`, if it is a string.
    pub fn role(&self) -> Option<&str> {
        match &*self.0 {
            Body::Plain { role, .. } => Some(role),
            Body::Other(value) => value.get("role").and_then(Value::as_str),
        }
    }

    pub fn content(&self) -> Content<'_> {
        match &*self.0 {
            Body::Plain { content, .. } => Content::Text(content),
            Body::Other(value) => match value.get("content") {
                None | Some(Value::Null) => Content::Nothing,
                Some(Value::String(text)) => Content::Text(text),
                Some(Value::Array(parts)) => Content::Parts(parts),
                Some(_) => Content::Other,
            },
        }
    }

    /// The `content`, if it is a string.
    pub fn text(&self) -> Option<&str> {
        match self.content() {
            Content::Text(text) => Some(text),
            Content::Nothing | Content::Parts(_) | Content::Other => None,
        }
    }

    /// Returns the keys other than `role` and `content`, in the order they are written.
    pub fn other_fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        let fields = match &*self.0 {
            Body::Plain { .. } => None,
            Body::Other(value) => value.as_object(),
        };
        let is_other = |(name, _): &(&String, &Value)| *name != "role" && *name != "content";
        fields.into_iter().flatten().filter(is_other)
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl From<Value> for Message {
    fn from(value: Value) -> Self {
        let Value::Object(mut fields) = value else {
            return Self(Arc::new(Body::Other(value)));
        };
        let is_text = |name| fields.get(name).is_some_and(Value::is_string);
        if fields.len() != 2 || !is_text("role") || !is_text("content") {
            return Self(Arc::new(Body::Other(Value::Object(fields))));
        }
        Self(Arc::new(
            match (fields.remove("role"), fields.remove("content")) {
                (Some(Value::String(role)), Some(Value::String(content))) => Body::Plain {
                    role: known_role(role),
                    content,
                },
                _ => Body::Other(Value::Object(fields)),
            },
        ))
    }
}

impl From<Message> for Value {
    fn from(message: Message) -> Self {
        match &*message.0 {
            Body::Plain { role, content } => Self::Object(Map::from_iter([
                ("role".to_owned(), Self::from(role.as_ref())),
                ("content".to_owned(), Self::from(content.as_str())),
            ])),
            Body::Other(value) => value.clone(),
        }
    }
}

/// Avoids an allocation for the usual roles.
fn known_role(role: String) -> Cow<'static, str> {
    let usual = ["user", "assistant", "system"];
    match usual.into_iter().find(|known| *known == role) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(role),
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &*self.0 {
            Body::Plain { role, content } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("content", content)?;
                map.serialize_entry("role", role)?;
                map.end()
            }
            Body::Other(value) => value.serialize(serializer),
        }
    }
}

/// A type that can be decoded from any JSON value; from objects or lists without an intermediate
/// [`Value`].
trait FromJson: From<Value> {
    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut fields = Map::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            fields.insert(name, value);
        }
        Ok(Value::Object(fields).into())
    }

    fn from_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element::<Value>()? {
            values.push(value);
        }
        Ok(Value::Array(values).into())
    }
}

struct JsonVisitor<T>(PhantomData<T>);

impl<'de, T: FromJson> Visitor<'de> for JsonVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(Value::Null.into())
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(Value::Bool(value).into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<T, E> {
        Ok(Value::from(value).into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(Value::from(value).into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<T, E> {
        Ok(Value::from(value).into())
    }

    fn visit_str<E>(self, value: &str) -> Result<T, E> {
        Ok(Value::from(value).into())
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Role,
    Content,
    #[serde(untagged)]
    Other(String),
}

impl FromJson for Message {
    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut role, mut content) = (None, None);
        let mut others = Map::new();
        while let Some(key) = map.next_key()? {
            let value: Value = map.next_value()?;
            match key {
                Key::Role => role = Some(value),
                Key::Content => content = Some(value),
                Key::Other(name) => {
                    others.insert(name, value);
                }
            }
        }
        if others.is_empty()
            && let (Some(Value::String(role)), Some(Value::String(content))) =
                (&mut role, &mut content)
        {
            return Ok(Self(Arc::new(Body::Plain {
                role: known_role(std::mem::take(role)),
                content: std::mem::take(content),
            })));
        }
        for (name, value) in [("role", role), ("content", content)] {
            if let Some(value) = value {
                others.insert(name.to_owned(), value);
            }
        }
        Ok(Self(Arc::new(Body::Other(Value::Object(others)))))
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor(PhantomData))
    }
}

/// A field that should be a list of messages.
///
/// Memory files of other programs may contain anything, which is served unchanged.
#[derive(Debug, Clone, PartialEq)]
pub enum Messages {
    List(Vec<Message>),
    Other(Value),
}

impl Default for Messages {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl From<Value> for Messages {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(values) => Self::List(values.into_iter().map(Message::from).collect()),
            other => Self::Other(other),
        }
    }
}

impl From<Messages> for Value {
    fn from(messages: Messages) -> Self {
        match messages {
            Messages::List(messages) => messages.into_iter().map(Value::from).collect(),
            Messages::Other(value) => value,
        }
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::List(messages) => messages.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl FromJson for Messages {
    fn from_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut messages = Vec::new();
        while let Some(message) = list.next_element()? {
            messages.push(message);
        }
        Ok(Self::List(messages))
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor(PhantomData))
    }
}
