use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use zot_conversation::{BoxFuture, Progress, Tool as _, ToolCallId, ToolInvocation, ToolOutput};

use super::{SkillGuard, SkillTool};
use crate::{SkillDirectories, SkillSet, find_skills};

struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _text: String) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn tool(cwd: &Path, skills: &[(&str, &str)]) -> (SkillTool, Arc<SkillGuard>) {
    for (name, allowed) in skills {
        let directory = cwd.join(".zot/skills").join(name);
        fs::create_dir_all(&directory).unwrap();
        let text = format!("---\ndescription: d\n{allowed}\n---\nDo {name}.\n");
        fs::write(directory.join("SKILL.md"), text).unwrap();
    }
    let directories = SkillDirectories::usual(cwd, Path::new("/none"), None);
    let set = SkillSet::new(find_skills(&directories, cwd).0);
    let guard = Arc::new(SkillGuard::default());
    (SkillTool::new(Arc::new(set), Arc::clone(&guard)), guard)
}

async fn call(tool: &SkillTool, arguments: serde_json::Value) -> ToolOutput {
    let arguments = RawValue::from_string(arguments.to_string()).unwrap();
    tool.run(ToolInvocation {
        id: &ToolCallId::from("1"),
        arguments: &arguments,
        progress: &NoProgress,
        questions: &zot_conversation::NobodyAnswers,
        cancel: &tokio_util::sync::CancellationToken::new(),
    })
    .await
}

#[tokio::test]
async fn a_skill_comes_with_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (tool, guard) = tool(directory.path(), &[("plain", "")]);
    let output = call(&tool, json!({"name": "plain"})).await;
    assert!(!output.is_error);
    let expected = format!(
        "[Relative paths in this skill start at {}]\n\nDo plain.\n",
        directory.path().join(".zot/skills/plain").display()
    );
    assert_eq!(output.joined_text(), expected);
    assert_eq!(guard.refusal("bash"), None);

    let built_in = call(&tool, json!({"name": "write-zot-extension"})).await;
    assert!(
        built_in.joined_text().starts_with("# "),
        "no directory to name"
    );
}

#[tokio::test]
async fn mistakes_are_reported_to_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let (tool, _) = tool(directory.path(), &[("plain", "")]);
    for (arguments, expected) in [
        (json!({}), "name must be a string"),
        (json!({"name": 1}), "name must be a string"),
        (
            json!({"name": "plane"}),
            "available skills: plain, write-zot-extension",
        ),
    ] {
        let output = call(&tool, arguments).await;
        assert!(output.is_error);
        assert!(output.joined_text().contains(expected), "{output:?}");
    }
    fs::remove_dir_all(directory.path().join(".zot")).unwrap();
    let output = call(&tool, json!({"name": "plain"})).await;
    assert!(output.is_error && output.joined_text().contains("cannot be used any more"));
}

#[tokio::test]
async fn a_restriction_holds_until_it_is_lifted() {
    let directory = tempfile::tempdir().unwrap();
    let (tool, guard) = tool(
        directory.path(),
        &[("careful", "allowed-tools: Read, edit")],
    );
    let output = call(&tool, json!({"name": "careful"})).await;
    assert!(
        output
            .joined_text()
            .contains("only these tools may be used: read, edit, skill]")
    );
    for allowed in ["read", "edit", "skill"] {
        assert_eq!(guard.refusal(allowed), None);
    }
    let refusal = guard.refusal("bash").unwrap();
    assert!(refusal.contains("\"careful\"") && refusal.contains("read, edit, skill"));
    guard.lift();
    assert_eq!(guard.refusal("bash"), None);
}

#[tokio::test]
async fn several_restrictions_all_hold() {
    let directory = tempfile::tempdir().unwrap();
    let (tool, guard) = tool(
        directory.path(),
        &[
            ("one", "allowed-tools: [read, bash]"),
            ("two", "allowed-tools: [read, write]"),
            ("free", ""),
        ],
    );
    for name in ["one", "two", "free", "one"] {
        assert!(!call(&tool, json!({"name": name})).await.is_error);
    }
    assert_eq!(guard.refusal("read"), None);
    assert!(guard.refusal("bash").unwrap().contains("\"two\""));
    assert!(guard.refusal("write").unwrap().contains("\"one\""));
    assert!(
        guard
            .refusal("write")
            .unwrap()
            .contains("used: read, skill.")
    );
}
