//! `zot sessions tree` and `zot sessions fork`.

use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::sessions::{self, ForkPoint, TreeNode};

use super::ListArguments;
use crate::failure::Failure;
use crate::output::{Format, print, print_json, print_line};
use crate::warn;

pub(super) fn fork(
    workspace: &Workspace,
    id: &str,
    at: Option<usize>,
    format: Format,
) -> Result<(), Failure> {
    let point = at.map_or(ForkPoint::End, ForkPoint::BeforePrompt);
    let report = sessions::fork(workspace, id, point)?;
    warn(&report.findings);
    match format {
        Format::Json => print_json(&json!({
            "id": report.id,
            "path": report.path,
            "parent": report.parent,
            "fork_point": report.messages,
        }))?,
        Format::Text => print_line(report)?,
    }
    Ok(())
}

pub(super) fn run(workspace: &Workspace, arguments: &ListArguments) -> Result<(), Failure> {
    let tree = sessions::tree(workspace, arguments.scope())?;
    if arguments.json {
        let roots: Vec<Value> = tree.roots.iter().map(as_json).collect();
        return print_json(&roots);
    }
    print(|output| write!(output, "{tree}"))
}

fn as_json(node: &TreeNode) -> Value {
    let TreeNode { session, children } = node;
    json!({
        "id": session.id,
        "path": session.path,
        "fork_point": session.fork_point,
        "title": session.title,
        "children": children.iter().map(as_json).collect::<Vec<_>>(),
    })
}
