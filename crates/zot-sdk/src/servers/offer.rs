//! Which tools of servers the model is told about.
//!
//! Providers cache the beginning of a request, and the declarations are part of it. So within a
//! conversation declarations are only appended: a tool that was declared stays as it was, whatever its
//! server lists by then.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use zot_context::tokens;
use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolInvocation, ToolOrigin, ToolOutput};
use zot_mcp::entry::Exposure;

/// The declarations that every request may carry without a word about it.
///
/// Limit: if the tools of all servers take more tokens, the model finds them with `tool_search`.
pub(crate) const DECLARED_TOKENS: u64 = 3_000;

/// A tool that the model may have.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) tool: Arc<dyn Tool>,
    /// What the configuration wants; `None` if the size decides.
    pub(crate) exposure: Option<Exposure>,
}

/// What the model has in one conversation.
#[derive(Default)]
pub(crate) struct Offer {
    /// Whether a request may have been sent, so that declarations are only appended.
    is_fixed: bool,
    declared: Vec<Arc<dyn Tool>>,
    /// Tools that were found or called, in this order. Some may not exist yet.
    wanted: Vec<String>,
}

/// The tools as they are given to the model.
pub(crate) struct Offered {
    /// In the order of their declarations.
    pub(crate) declared: Vec<Arc<dyn Tool>>,
    /// Run if they are called.
    pub(crate) undeclared: Vec<Arc<dyn Tool>>,
}

/// Whether a search may find something that is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// Every server has said what it has.
    Settled,
    /// Some servers are still starting.
    MoreToCome,
}

impl Offer {
    /// From now on, declarations are only appended.
    pub(crate) fn fix(&mut self) {
        self.is_fixed = true;
    }

    /// Declares a tool from now on, as soon as it exists. Returns whether that is new.
    pub(crate) fn want(&mut self, name: &str) -> bool {
        let is_new = !self.wanted.iter().any(|wanted| wanted == name);
        if is_new {
            self.wanted.push(name.to_owned());
        }
        is_new
    }

    pub(crate) fn has_declared(&self, wanted: &str) -> bool {
        self.declared.iter().any(|tool| name(tool) == wanted)
    }

    /// Sorts `candidates` into those that are declared and those that are found with `search`. A tool that
    /// is declared already stays unless `is_selected` no longer holds for it.
    pub(crate) fn update(
        &mut self,
        candidates: &[Candidate],
        search: &Arc<dyn Tool>,
        outlook: Outlook,
        is_selected: &dyn Fn(&str) -> bool,
    ) -> Offered {
        if !self.is_fixed {
            self.declared.clear();
        }
        self.renew(candidates);
        let known = self.names();
        let fresh: Vec<&Candidate> = candidates
            .iter()
            .filter(|candidate| !known.contains(name(&candidate.tool)))
            .collect();
        let fits = self.fits(&fresh);
        let is_direct = |candidate: &&&Candidate| match candidate.exposure {
            Some(Exposure::Direct) => true,
            None => fits,
            Some(Exposure::Deferred | Exposure::Hidden) => false,
        };
        let direct: Vec<Arc<dyn Tool>> = fresh
            .iter()
            .filter(is_direct)
            .map(|candidate| Arc::clone(&candidate.tool))
            .collect();
        let is_found = |tool: &Arc<dyn Tool>| self.wanted.iter().any(|wanted| wanted == name(tool));
        let needs_search = outlook == Outlook::MoreToCome
            || fresh
                .iter()
                .any(|candidate| !is_direct(&candidate) && !is_found(&candidate.tool));
        if needs_search && !known.contains(name(search)) {
            self.declared.push(Arc::clone(search));
        }
        self.declared.extend(direct);
        for wanted in &self.wanted {
            let candidate = fresh
                .iter()
                .find(|candidate| name(&candidate.tool) == wanted);
            let is_declared = self.declared.iter().any(|tool| name(tool) == wanted);
            if let Some(candidate) = candidate
                && !is_declared
            {
                self.declared.push(Arc::clone(&candidate.tool));
            }
        }
        self.offered(candidates, is_selected)
    }

    /// Lets calls of declared tools reach the tools of now, which may be others after a restart of their
    /// server. The declarations stay.
    fn renew(&mut self, candidates: &[Candidate]) {
        let current: HashMap<&str, &Arc<dyn Tool>> = candidates
            .iter()
            .map(|candidate| (name(&candidate.tool), &candidate.tool))
            .collect();
        for declared in &mut self.declared {
            let Some(now) = current.get(name(declared)) else {
                continue;
            };
            if Arc::ptr_eq(now, declared) {
                continue;
            }
            let definition = Arc::clone(declared.definition());
            *declared = match same(&definition, now.definition()) {
                true => Arc::clone(now),
                false => Arc::new(AsDeclared {
                    definition,
                    tool: Arc::clone(now),
                }),
            };
        }
    }

    /// Returns whether everything that the size decides about can be declared.
    fn fits(&self, fresh: &[&Candidate]) -> bool {
        let declared = self.declared.iter().map(declaration_tokens);
        let counted = fresh
            .iter()
            .filter(|candidate| matches!(candidate.exposure, None | Some(Exposure::Direct)));
        let fresh = counted.map(|candidate| declaration_tokens(&candidate.tool));
        declared.chain(fresh).sum::<u64>() <= DECLARED_TOKENS
    }

    fn offered(&self, candidates: &[Candidate], is_selected: &dyn Fn(&str) -> bool) -> Offered {
        let declared = self.declared.iter().filter(|tool| is_selected(name(tool)));
        let known = self.names();
        let undeclared = candidates
            .iter()
            .map(|candidate| &candidate.tool)
            .filter(|tool| !known.contains(name(tool)));
        Offered {
            declared: declared.cloned().collect(),
            undeclared: undeclared.cloned().collect(),
        }
    }

    fn names(&self) -> HashSet<&str> {
        self.declared.iter().map(name).collect()
    }
}

/// Estimates what a declaration costs in every request.
pub(crate) fn declaration_tokens(tool: &Arc<dyn Tool>) -> u64 {
    let definition = tool.definition();
    tokens(definition.name.len() + definition.description.len() + definition.parameters.get().len())
}

fn name(tool: &Arc<dyn Tool>) -> &str {
    &tool.definition().name
}

fn same(left: &ToolDefinition, right: &ToolDefinition) -> bool {
    left.description == right.description
        && left.parameters.get() == right.parameters.get()
        && left.effect == right.effect
}

/// A tool under the declaration that the model knows.
struct AsDeclared {
    definition: Arc<ToolDefinition>,
    tool: Arc<dyn Tool>,
}

impl Tool for AsDeclared {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        self.tool.run(invocation)
    }

    fn preview(&self, arguments: &serde_json::value::RawValue) -> Option<String> {
        self.tool.preview(arguments)
    }

    fn origin(&self) -> Option<ToolOrigin> {
        self.tool.origin()
    }
}
