//! Extensions for tests: a program that follows a script and logs every frame.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Transcript, Workdir, poll_until};

/// The program. Its header documents the scripts.
const PROGRAM: &str = include_str!("extension/scripted.py");

/// An extension that follows a script. [`ScriptedExtension::install`] writes it to a directory.
#[derive(Debug, Clone)]
pub struct ScriptedExtension {
    name: String,
    manifest: Value,
    script: Value,
}

/// A scripted extension in a directory.
#[derive(Debug, Clone)]
pub struct InstalledExtension {
    name: String,
    directory: PathBuf,
}

impl ScriptedExtension {
    /// Creates one that sends hello, then `registrations`, then ready.
    pub fn new(name: &str, registrations: impl IntoIterator<Item = Value>) -> Self {
        let hello = json!({
            "type": "hello", "name": name, "version": "1.0.0", "capabilities": ["commands", "tools"]
        });
        let start = std::iter::once(hello)
            .chain(registrations)
            .chain([json!({"type": "ready"})]);
        Self::starting_with(name, start)
    }

    /// Creates one that starts with exactly these steps.
    pub fn starting_with(name: &str, steps: impl IntoIterator<Item = Value>) -> Self {
        Self {
            name: name.to_owned(),
            manifest: json!({
                "name": name,
                "version": "1.0.0",
                "exec": "python3",
                "args": ["-S", "-E", "-u", "scripted.py"],
                "language": "python",
            }),
            script: json!({"start": steps.into_iter().collect::<Vec<_>>()}),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets a field of the manifest.
    pub fn manifest(mut self, field: &str, value: Value) -> Self {
        self.manifest[field] = value;
        self
    }

    /// Sets a part of the script.
    pub fn script(mut self, part: &str, value: Value) -> Self {
        self.script[part] = value;
        self
    }

    /// Sets the reaction to a call of `tool`.
    pub fn tool(mut self, tool: &str, steps: Value) -> Self {
        self.script["tools"][tool] = steps;
        self
    }

    /// Writes it to a directory in `parent`, replacing an older one.
    pub fn install(&self, parent: &Path) -> InstalledExtension {
        let directory = parent.join(&self.name);
        fs::create_dir_all(&directory).expect("create the directory of an extension");
        let manifest = self.manifest.to_string();
        let script = self.script.to_string();
        for (file, text) in [
            ("scripted.py", PROGRAM),
            ("script.json", &script),
            ("extension.json", &manifest),
        ] {
            fs::write(directory.join(file), text).expect("write a file of an extension");
        }
        InstalledExtension {
            name: self.name.clone(),
            directory,
        }
    }
}

/// Returns the registration of a tool that accepts any object.
pub fn echo_tool(name: &str) -> Value {
    register_tool(name, json!({"type": "object"}))
}

/// Returns the frame that registers a tool.
pub fn register_tool(name: &str, schema: Value) -> Value {
    json!({"type": "register_tool", "name": name, "description": "a tool", "schema": schema})
}

/// Returns a tool result with this text.
pub fn tool_text(text: &str) -> Value {
    json!({"type": "tool_result", "content": [{"type": "text", "text": text}]})
}

impl InstalledExtension {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Overwrites a file of the extension.
    pub fn write(&self, file: &str, text: &str) {
        fs::write(self.directory.join(file), text).expect("write a file of an extension");
    }

    pub fn remove(&self, file: &str) {
        fs::remove_file(self.directory.join(file)).expect("remove a file of an extension");
    }

    /// Returns the log of its pipes: `> ` was sent to it, `< ` came from it, `# ` is a remark.
    pub fn notes(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("frames.log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the log in a form that can be compared with a recording.
    pub fn transcript(&self) -> Transcript {
        Transcript::from_notes(self.notes())
    }

    /// Returns the frames of this type that it received.
    pub fn received(&self, kind: &str) -> Vec<Value> {
        self.frames("> ", kind)
    }

    /// Returns the frames of this type that it sent.
    pub fn sent(&self, kind: &str) -> Vec<Value> {
        self.frames("< ", kind)
    }

    /// Waits for a remark, such as `exit 9`.
    pub fn wait_for_remark(&self, remark: &str) {
        let remark = format!("# {remark}");
        poll_until(&remark, || self.notes().contains(&remark));
    }

    /// Waits until it received this many frames of this type.
    pub fn wait_until_received(&self, kind: &str, count: usize) -> Vec<Value> {
        poll_until(kind, || self.received(kind).len() >= count);
        self.received(kind)
    }

    /// Creates the file that a `wait_for` step waits for.
    pub fn release(&self, file: &str) {
        self.write(file, "");
    }

    /// Returns whether a `touch` step created this file.
    pub fn has(&self, file: &str) -> bool {
        self.directory.join(file).exists()
    }

    fn frames(&self, mark: &str, kind: &str) -> Vec<Value> {
        let notes = self.notes();
        let frames = notes.iter().filter_map(|note| note.strip_prefix(mark));
        let frames = frames.filter_map(|frame| serde_json::from_str::<Value>(frame).ok());
        frames.filter(|frame| frame["type"] == kind).collect()
    }
}

impl Workdir {
    /// Returns the directory of extensions that are named on the command line; recordings show its
    /// parent as `<exts>`.
    pub fn extensions(&self) -> PathBuf {
        self.extension_directories().join(self.name())
    }

    /// Returns the log of an extension.
    pub fn extension_log(&self, name: &str) -> String {
        let path = self.zot_home().join("logs").join(format!("ext-{name}.log"));
        fs::read_to_string(path).unwrap_or_default()
    }
}
