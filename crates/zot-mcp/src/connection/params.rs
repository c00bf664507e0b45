//! The parameters of requests, and what every request says about us.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::version::Era;

/// What a program tells servers about itself and about what it can do.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) version: String,
    /// Whether it says where it works. Servers elsewhere cannot do anything with that.
    pub(crate) has_roots: bool,
}

#[derive(Serialize)]
struct Implementation<'a> {
    name: &'a str,
    title: &'a str,
    version: &'a str,
}

impl Client {
    pub(crate) fn info(&self) -> String {
        let info = Implementation {
            name: "zot",
            title: "zot",
            version: &self.version,
        };
        to_json(&info)
    }

    /// Returns the capabilities as one of the eras declares them. Sampling is not among them: a server has no say in what
    /// the user's model is asked.
    pub(crate) fn capabilities(&self, era: Era) -> String {
        let roots = if self.has_roots { r#""roots":{},"# } else { "" };
        let elicitation = r#""elicitation":{"form":{},"url":{}}"#;
        let extensions = match era {
            Era::Legacy => "",
            Era::Modern => r#","extensions":{"io.modelcontextprotocol/tasks":{}}"#,
        };
        format!("{{{roots}{elicitation}{extensions}}}")
    }

    /// Returns the fields of `_meta` that every modern request has, each followed by a comma.
    pub(crate) fn modern_meta(&self, version: &str) -> String {
        format!(
            r#""io.modelcontextprotocol/protocolVersion":{},"io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{},"#,
            to_json(&version),
            self.info(),
            self.capabilities(Era::Modern),
        )
    }
}

/// A JSON object under construction.
#[derive(Debug, Clone)]
pub(crate) struct Params {
    /// An open brace, and fields, each followed by a comma.
    text: String,
}

impl Params {
    pub(crate) fn new() -> Self {
        Self {
            text: "{".to_owned(),
        }
    }

    pub(crate) fn with(self, name: &str, value: impl Serialize) -> Self {
        self.with_json(name, &to_json(&value))
    }

    /// Adds a field whose value is JSON already.
    pub(crate) fn with_json(mut self, name: &str, json: &str) -> Self {
        self.text.push_str(&to_json(&name));
        self.text.push(':');
        self.text.push_str(json);
        self.text.push(',');
        self
    }

    /// Closes the object. `meta` are fields of `_meta`, each followed by a comma.
    pub(crate) fn finish(mut self, meta: &str) -> Result<Box<RawValue>, serde_json::Error> {
        if !meta.is_empty() {
            self.text.push_str(r#""_meta":{"#);
            self.text.push_str(meta.trim_end_matches(','));
            self.text.push('}');
        } else if self.text.ends_with(',') {
            self.text.pop();
        }
        self.text.push('}');
        RawValue::from_string(self.text)
    }
}

/// Returns `value` as JSON. What we serialise are texts, numbers and plain structures, which cannot fail.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
