use std::sync::Arc;

use serde_json::value::RawValue;
use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};
use zot_mcp::entry::Exposure;

use super::{Candidate, Offer, Offered, Outlook};

struct Named(Arc<ToolDefinition>);

impl Tool for Named {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.0
    }

    fn run<'a>(&'a self, _: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::text(
            self.0.description.clone(),
        )))
    }
}

fn tool(name: &str, tokens: usize) -> Arc<dyn Tool> {
    Arc::new(Named(Arc::new(ToolDefinition {
        name: name.to_owned(),
        description: "x".repeat(tokens * 4 - name.len() - 2),
        parameters: RawValue::from_string("{}".to_owned()).unwrap(),
        effect: ToolEffect::Changes,
    })))
}

fn candidate(name: &str, tokens: usize) -> Candidate {
    Candidate {
        tool: tool(name, tokens),
        exposure: None,
    }
}

fn exposed(name: &str, tokens: usize, exposure: Exposure) -> Candidate {
    Candidate {
        exposure: Some(exposure),
        ..candidate(name, tokens)
    }
}

fn update(offer: &mut Offer, candidates: &[Candidate]) -> Offered {
    let search = tool("tool_search", 100);
    offer.update(candidates, &search, Outlook::Settled, &|_| true)
}

#[track_caller]
fn check(offered: &Offered, declared: &[&str], undeclared: &[&str]) {
    let names = |tools: &[Arc<dyn Tool>]| {
        let names = tools.iter().map(|tool| tool.definition().name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&offered.declared), declared);
    assert_eq!(names(&offered.undeclared), undeclared);
}

#[test]
fn few_tools_are_declared_and_many_are_found() {
    let small = [candidate("a", 1_500), candidate("b", 1_500)];
    check(&update(&mut Offer::default(), &small), &["a", "b"], &[]);
    let large = [candidate("a", 1_500), candidate("b", 1_501)];
    check(
        &update(&mut Offer::default(), &large),
        &["tool_search"],
        &["a", "b"],
    );
}

#[test]
fn the_configuration_decides_first() {
    let candidates = [
        exposed("a", 5_000, Exposure::Direct),
        candidate("b", 10),
        exposed("c", 10, Exposure::Deferred),
    ];
    check(
        &update(&mut Offer::default(), &candidates),
        &["tool_search", "a"],
        &["b", "c"],
    );
    let without_large = &candidates[1..];
    check(
        &update(&mut Offer::default(), without_large),
        &["tool_search", "b"],
        &["c"],
    );
}

#[test]
fn declarations_are_appended() {
    let mut offer = Offer::default();
    let mut candidates = vec![candidate("b", 1_000)];
    check(&update(&mut offer, &candidates), &["b"], &[]);
    offer.fix();
    // A server that comes late, and is first in the configuration.
    candidates.insert(0, candidate("a", 1_000));
    check(&update(&mut offer, &candidates), &["b", "a"], &[]);
    // Another one, which is too much: what is declared stays.
    candidates.insert(0, candidate("c", 1_500));
    check(
        &update(&mut offer, &candidates),
        &["b", "a", "tool_search"],
        &["c"],
    );
    offer.want("c");
    check(
        &update(&mut offer, &candidates),
        &["b", "a", "tool_search", "c"],
        &[],
    );
    // A server that has gone takes nothing away.
    check(
        &update(&mut offer, &candidates[..1]),
        &["b", "a", "tool_search", "c"],
        &[],
    );
}

#[test]
fn nothing_is_fixed_before_the_first_request() {
    let mut offer = Offer::default();
    update(&mut offer, &[candidate("b", 10)]);
    let candidates = [candidate("a", 10), candidate("b", 10)];
    check(&update(&mut offer, &candidates), &["a", "b"], &[]);
}

#[test]
fn what_was_found_before_is_declared_when_it_exists() {
    let mut offer = Offer::default();
    offer.want("late");
    offer.want("b");
    let many = [candidate("a", 5_000), candidate("b", 10)];
    check(&update(&mut offer, &many), &["tool_search", "b"], &["a"]);
    offer.fix();
    let more = [
        candidate("a", 5_000),
        candidate("b", 10),
        candidate("late", 10),
    ];
    check(
        &update(&mut offer, &more),
        &["tool_search", "b", "late"],
        &["a"],
    );
}

#[test]
fn a_search_can_wait_for_servers() {
    let search = tool("tool_search", 100);
    let mut offer = Offer::default();
    let offered = offer.update(&[], &search, Outlook::MoreToCome, &|_| true);
    check(&offered, &["tool_search"], &[]);
    offer.fix();
    let offered = update(&mut offer, &[candidate("a", 10)]);
    check(&offered, &["tool_search", "a"], &[]);
}

#[test]
fn a_selection_takes_away() {
    let search = tool("tool_search", 100);
    let candidates = [candidate("a", 10), candidate("b", 10)];
    let mut offer = Offer::default();
    update(&mut offer, &candidates);
    offer.fix();
    let offered = offer.update(&candidates[..1], &search, Outlook::Settled, &|name| {
        name == "a"
    });
    check(&offered, &["a"], &[]);
}

#[tokio::test]
async fn a_changed_tool_keeps_its_declaration_and_runs_as_it_is_now() {
    let mut offer = Offer::default();
    let before = candidate("a", 10);
    update(&mut offer, std::slice::from_ref(&before));
    offer.fix();
    let after = candidate("a", 20);
    let offered = update(&mut offer, std::slice::from_ref(&after));
    let declared = &offered.declared[0];
    assert_eq!(
        declared.definition().description,
        before.tool.definition().description
    );
    let output = declared
        .run(ToolInvocation {
            id: &"1".into(),
            arguments: &RawValue::from_string("{}".to_owned()).unwrap(),
            progress: &Silent,
            questions: &zot_conversation::NobodyAnswers,
            cancel: &tokio_util::sync::CancellationToken::new(),
        })
        .await;
    assert_eq!(output.joined_text(), after.tool.definition().description);
}

struct Silent;

impl zot_conversation::Progress for Silent {
    fn report(&self, _: String) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
