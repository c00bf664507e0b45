//! `zot sessions tree` and `zot sessions fork`.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use serde_json::{Value, json};
use zot_sdk::Durability;
use zot_sdk::sessions::{self, Summary, View, read};
use zot_terminal::Print;

use super::list::{minute, title};
use super::{Failure, ListArguments, Place, short};
use crate::output::{Format, say, say_json};

/// Deeper forks are drawn at this depth.
///
/// Limit: deeper forks are shown at this depth.
const MAX_TREE_DEPTH: usize = 64;

pub(super) fn fork(
    place: &Place,
    id: &str,
    at: Option<usize>,
    format: Format,
) -> Result<(), Failure> {
    // Prompts are counted as `show` counts them; a copy of the whole is what the model has now.
    let view = match at {
        Some(_) => View::Everything,
        None => View::Current,
    };
    let parent = read(&place.library.find(id)?, view)?;
    crate::warn(&parent.report.findings());
    let cwd = match parent.meta.cwd.as_str() {
        "" => place.cwd.clone(),
        cwd => cwd.to_owned(),
    };
    let root = place.library.root();
    let log = sessions::fork(root, &parent, at, cwd, Durability::ProcessEnd)?;
    log.keep()?;
    let meta = log.meta();
    match format {
        Format::Json => say_json(&json!({
            "id": meta.id,
            "path": log.path(),
            "parent": meta.parent,
            "fork_point": meta.fork_point,
        }))?,
        Format::Text => say(format_args!(
            "{}\n{} messages of {}; go on with it: zot -p --resume {} PROMPT",
            meta.id,
            meta.fork_point.unwrap_or_default(),
            short(&parent.meta.id),
            short(&meta.id)
        ))?,
    }
    Ok(())
}

pub(super) fn run(place: &Place, arguments: &ListArguments) -> Result<(), Failure> {
    let summaries = place.list(arguments.all)?;
    let forest = Forest::new(&summaries);
    if arguments.json {
        let roots: Vec<Value> = forest
            .roots
            .iter()
            .map(|root| forest.value(root, 0))
            .collect();
        return Ok(say_json(&roots)?);
    }
    let mut output = zot_terminal::buffered_stdout();
    for root in &forest.roots {
        forest.draw(&mut output, root, "", "", 0)?;
    }
    Ok(output.flush()?)
}

/// Sessions below those they were forked from.
struct Forest<'a> {
    /// Those whose parents are not there.
    roots: Vec<&'a Summary>,
    children: HashMap<&'a str, Vec<&'a Summary>>,
}

impl<'a> Forest<'a> {
    fn new(summaries: &'a [Summary]) -> Self {
        let known: HashSet<&str> = summaries.iter().map(|s| s.id.as_str()).collect();
        let mut forest = Self {
            roots: Vec::new(),
            children: HashMap::new(),
        };
        for summary in summaries {
            match summary.parent.as_deref().filter(|id| known.contains(id)) {
                Some(parent) if parent != summary.id => {
                    forest.children.entry(parent).or_default().push(summary);
                }
                _ => forest.roots.push(summary),
            }
        }
        for children in forest.children.values_mut() {
            children.sort_by_key(|child| (child.fork_point, child.started.clone()));
        }
        forest
    }

    fn children(&self, summary: &Summary, depth: usize) -> &[&'a Summary] {
        // Files can be edited by hand so that they are each other's parents.
        match self.children.get(summary.id.as_str()) {
            Some(children) if depth < MAX_TREE_DEPTH => children,
            _ => &[],
        }
    }

    fn draw(
        &self,
        output: &mut dyn Print,
        summary: &Summary,
        first: &str,
        rest: &str,
        depth: usize,
    ) -> io::Result<()> {
        let at = match summary.fork_point {
            Some(point) => format!("  after message {point}"),
            None => String::new(),
        };
        let title = title(summary);
        writeln!(
            output,
            "{first}{}  {}{at}  {}",
            short(&summary.id),
            minute(summary),
            output.cell(&title)
        )?;
        let children = self.children(summary, depth);
        for (index, child) in children.iter().enumerate() {
            let (branch, below) = match index + 1 == children.len() {
                true => ("└─ ", "   "),
                false => ("├─ ", "│  "),
            };
            self.draw(
                output,
                child,
                &format!("{rest}{branch}"),
                &format!("{rest}{below}"),
                depth + 1,
            )?;
        }
        Ok(())
    }

    fn value(&self, summary: &Summary, depth: usize) -> Value {
        let children = self.children(summary, depth).iter();
        json!({
            "id": summary.id,
            "path": summary.path,
            "fork_point": summary.fork_point,
            "title": summary.title,
            "children": children.map(|child| self.value(child, depth + 1)).collect::<Vec<_>>(),
        })
    }
}
