use std::path::PathBuf;
use std::sync::Arc;

use zot_context::{InstructionFile, SkillGuard, SkillSet, SkillTool};
use zot_conversation::{Timestamp, Tool, ToolSet};

use super::{Base, ContextKind, PromptParts};

fn parts(base: Base) -> PromptParts {
    let file = |name: &str, text: &str| InstructionFile {
        path: PathBuf::from("/work").join(name),
        shown: name.to_owned(),
        text: text.to_owned(),
    };
    PromptParts {
        base,
        instructions: vec![file("AGENTS.md", "near"), file("../AGENTS.md", "far")],
        skills: Some(Arc::new(SkillSet::built_in())),
        appended: vec!["APP1".to_owned(), "APP2".to_owned()],
        cwd: PathBuf::from("/work"),
    }
}

fn began() -> Timestamp {
    "2026-03-01T23:30:00Z".parse().unwrap()
}

fn with_skill_tool() -> ToolSet {
    let (set, guard) = (SkillSet::built_in(), SkillGuard::default());
    let tool = SkillTool::new(Arc::new(set), Arc::new(guard));
    ToolSet::new([Arc::new(tool) as Arc<dyn Tool>])
}

#[test]
fn stable_parts_come_first() {
    let prompt = parts(Base::BuiltIn).compose(&with_skill_tool(), None, began());
    let positions = [
        "You are zot",
        "Tools: skill.",
        "- write-zot-extension: ",
        "the first one counts",
        "<instructions from=\"AGENTS.md\">\nnear\n</instructions>",
        "<instructions from=\"../AGENTS.md\">\nfar\n",
        "APP1",
        "APP2",
        "\n\nCurrent date: ",
        "\nCurrent working directory: /work",
    ]
    .map(|part| prompt.find(part));
    assert!(positions.iter().all(Option::is_some), "{prompt}");
    assert!(positions.is_sorted(), "{prompt}");
}

#[test]
fn a_replacement_keeps_the_other_parts() {
    let prompt = parts(Base::Given("SYS".to_owned())).compose(&with_skill_tool(), None, began());
    assert!(prompt.starts_with("SYS\n\nSkills are "), "{prompt}");
    let (_, end) = prompt.split_once("APP1\n\nAPP2\n\n").unwrap();
    let date = end.strip_prefix("Current date: ").unwrap();
    let (date, directory) = date.split_once('\n').unwrap();
    assert_eq!(date, "2026-03-01", "{prompt}");
    assert_eq!(directory, "Current working directory: /work");
}

#[test]
fn skills_are_listed_only_if_they_can_be_loaded() {
    let sections = parts(Base::BuiltIn).sections(&ToolSet::default(), None, began());
    assert!(
        sections
            .iter()
            .all(|section| section.kind != ContextKind::Skills)
    );
}

#[test]
fn the_sections_are_the_whole_prompt() {
    let (parts, tools) = (parts(Base::BuiltIn), with_skill_tool());
    let sections = parts.sections(&tools, None, began());
    let separators = 2 * (sections.len() - 1);
    let length: usize = sections.iter().map(|section| section.text.len()).sum();
    assert_eq!(
        length + separators,
        parts.compose(&tools, None, began()).len()
    );
}

#[test]
fn servers_come_late_and_name_their_tools_themselves() {
    let none = ToolSet::default();
    let prompt = parts(Base::BuiltIn).compose(&none, Some("# MCP servers"), began());
    assert!(!prompt.contains("No tools are available"), "{prompt}");
    let sections = parts(Base::BuiltIn).sections(&none, Some("# MCP servers"), began());
    let kinds: Vec<ContextKind> = sections.iter().map(|section| section.kind).collect();
    assert_eq!(
        kinds[kinds.len() - 2..],
        [ContextKind::Servers, ContextKind::Environment]
    );
    let without = parts(Base::BuiltIn).compose(&none, Some(""), began());
    assert!(!without.contains("MCP"), "an empty section is left out");
}
