use std::fs;
use std::path::Path;

use crate::context::ContextKind;
use crate::{Config, ContextSearch, ModelChoice, Runtime, SkillSearch};

fn runtime(cwd: &Path, context: ContextSearch) -> Runtime {
    Runtime::new(Config {
        model: ModelChoice::provider("offline"),
        cwd: Some(cwd.to_owned()),
        home: Some(cwd.join("home")),
        context,
        ..Config::default()
    })
    .unwrap()
}

fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("AGENTS.md"), "Use tabs.").unwrap();
    let prompts = directory.path().join(".zot/prompts");
    fs::create_dir_all(&prompts).unwrap();
    fs::write(prompts.join("say.md"), "Say $1.").unwrap();
    directory
}

fn kinds(runtime: &Runtime) -> Vec<ContextKind> {
    let mut kinds: Vec<_> = runtime.context().iter().map(|part| part.kind).collect();
    kinds.dedup();
    kinds
}

/// A program that serves strangers must not read their files by default.
#[tokio::test]
async fn nothing_is_read_by_default() {
    let directory = project();
    let runtime = runtime(directory.path(), ContextSearch::default());
    assert_eq!(
        kinds(&runtime),
        [
            ContextKind::SystemPrompt,
            ContextKind::Environment,
            ContextKind::Tool
        ]
    );
    assert!(runtime.tools().iter().all(|tool| tool.name != "skill"));
    assert!(runtime.commands().await.is_empty());
    assert_eq!(runtime.expand_template("/say hi").unwrap(), None);
}

#[tokio::test]
async fn everything_requested_is_found() {
    let directory = project();
    let search = ContextSearch {
        instructions: true,
        templates: true,
        skills: SkillSearch::BuiltIn,
    };
    let runtime = runtime(directory.path(), search);
    assert_eq!(
        kinds(&runtime),
        [
            ContextKind::SystemPrompt,
            ContextKind::Skills,
            ContextKind::Instructions,
            ContextKind::Environment,
            ContextKind::Tool,
        ]
    );
    assert_eq!(runtime.commands().await[0].name, "say");
    let expanded = runtime.expand_template("/say hi").unwrap();
    assert_eq!(expanded.as_deref(), Some("Say hi."));
    let attached = runtime.attach_mentions("see @AGENTS.md");
    assert!(attached.text.contains("Use tabs."));
}

#[tokio::test]
async fn a_system_prompt_set_at_run_time_replaces_all_parts() {
    let directory = project();
    let search = ContextSearch {
        instructions: true,
        ..ContextSearch::default()
    };
    let runtime = runtime(directory.path(), search);
    runtime.set_system_prompt(Some("Be brief.")).unwrap();
    assert_eq!(
        kinds(&runtime),
        [ContextKind::SystemPrompt, ContextKind::Tool]
    );
    runtime.set_system_prompt(None).unwrap();
    assert!(kinds(&runtime).contains(&ContextKind::Instructions));
}
