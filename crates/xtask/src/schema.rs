//! The committed JSON Schema of `zot rpc`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Where it is, below the root.
pub const PATH: &str = "docs/schema/rpc.schema.json";

/// What the file has to hold.
pub fn text() -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(&zot_wire::rpc::json_schema())?;
    text.push('\n');
    Ok(text)
}

/// Writes it anew.
pub fn write(root: &Path) -> anyhow::Result<PathBuf> {
    let path = root.join(PATH);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&path, text()?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
