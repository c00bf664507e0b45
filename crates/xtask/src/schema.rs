//! The committed JSON Schemas: of `zot rpc` and of `config.json`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

/// A file below `docs/schema` that is generated from types.
pub struct SchemaFile {
    /// Its path, relative to the root.
    pub path: &'static str,
    schema: fn() -> Value,
}

/// All generated schemas.
pub const FILES: [SchemaFile; 2] = [
    SchemaFile {
        path: "docs/schema/rpc.schema.json",
        schema: zot_wire::rpc::json_schema,
    },
    SchemaFile {
        path: "docs/schema/config.schema.json",
        schema: zot_config::json_schema,
    },
];

impl SchemaFile {
    /// Returns the content of the file.
    pub fn text(&self) -> anyhow::Result<String> {
        let mut text = serde_json::to_string_pretty(&(self.schema)())?;
        text.push('\n');
        Ok(text)
    }

    /// Writes the file.
    pub fn write(&self, root: &Path) -> anyhow::Result<PathBuf> {
        let path = root.join(self.path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&path, self.text()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}
