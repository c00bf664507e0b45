//! The tree of forked sessions.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;

use zot_session::Summary;

use super::{Scope, list, short_id, shortened_line};
use crate::workspace::Workspace;

/// How deep forks are shown: edited files could be each other's parents.
///
/// Limit: deeper forks are left out.
const MAX_TREE_DEPTH: usize = 64;

const MAX_TREE_TITLE: usize = 60;

/// Sessions and their forks.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The sessions without a known parent.
    pub roots: Vec<TreeNode>,
}

/// A session and its forks.
#[derive(Debug, Clone)]
pub struct TreeNode {
    /// The session.
    pub session: Summary,
    /// Its forks, in the order of the message they were forked after.
    pub children: Vec<TreeNode>,
}

/// Arranges the sessions in `scope` as a tree.
pub fn tree(workspace: &Workspace, scope: Scope) -> io::Result<Tree> {
    Ok(Tree::new(list(workspace, scope)?))
}

impl Tree {
    fn new(summaries: Vec<Summary>) -> Self {
        let known: HashSet<String> = summaries.iter().map(|one| one.id.clone()).collect();
        let mut roots = Vec::new();
        let mut children: HashMap<String, Vec<Summary>> = HashMap::new();
        for summary in summaries {
            match summary.parent.clone().filter(|id| known.contains(id)) {
                Some(parent) if parent != summary.id => {
                    children.entry(parent).or_default().push(summary);
                }
                _ => roots.push(summary),
            }
        }
        let roots = roots.into_iter();
        Self {
            roots: roots
                .map(|root| TreeNode::new(root, &mut children, 0))
                .collect(),
        }
    }
}

impl TreeNode {
    fn new(session: Summary, children: &mut HashMap<String, Vec<Summary>>, depth: usize) -> Self {
        let mut own = match depth < MAX_TREE_DEPTH {
            true => children.remove(&session.id).unwrap_or_default(),
            false => Vec::new(),
        };
        own.sort_by_key(|child| (child.fork_point, child.started.clone()));
        let own = own.into_iter();
        Self {
            children: own
                .map(|child| Self::new(child, children, depth + 1))
                .collect(),
            session,
        }
    }

    fn draw(&self, formatter: &mut fmt::Formatter<'_>, first: &str, rest: &str) -> fmt::Result {
        let Summary {
            id,
            modified,
            fork_point,
            title,
            damaged,
            ..
        } = &self.session;
        let minute = modified.strftime("%Y-%m-%d %H:%M");
        write!(formatter, "{first}{}  {minute}", short_id(id))?;
        if let Some(point) = fork_point {
            write!(formatter, "  after message {point}")?;
        }
        let mark = if *damaged { "(damaged) " } else { "" };
        let title = shortened_line(title, MAX_TREE_TITLE);
        writeln!(formatter, "  {mark}{title}")?;
        for (index, child) in self.children.iter().enumerate() {
            let (branch, below) = match index + 1 == self.children.len() {
                true => ("└─ ", "   "),
                false => ("├─ ", "│  "),
            };
            let (branch, below) = (format!("{rest}{branch}"), format!("{rest}{below}"));
            child.draw(formatter, &branch, &below)?;
        }
        Ok(())
    }
}

/// Writes one line per session.
impl fmt::Display for Tree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.roots
            .iter()
            .try_for_each(|root| root.draw(formatter, "", ""))
    }
}
