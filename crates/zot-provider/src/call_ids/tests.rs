use proptest::prelude::*;
use zot_conversation::{Arguments, Role, Timestamp, ToolCall, ToolResult};

use super::*;

const RULES: [IdRule; 4] = [
    IdRule::Anthropic,
    IdRule::OpenAiChat,
    IdRule::OpenAiResponses,
    IdRule::Mistral,
];

fn calls(ids: &[&str]) -> Arc<Message> {
    let call = |id: &&str| {
        ContentBlock::ToolCall(ToolCall {
            id: (*id).into(),
            name: "t".to_owned(),
            arguments: Arguments::empty(),
        })
    };
    message(Role::Assistant, ids.iter().map(call).collect())
}

fn results(ids: &[&str]) -> Arc<Message> {
    let result = |id: &&str| {
        ContentBlock::ToolResult(ToolResult {
            call_id: (*id).into(),
            is_error: false,
            content: Vec::new(),
        })
    };
    message(Role::Tool, ids.iter().map(result).collect())
}

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

/// The ids of all calls and results as they are sent.
fn sent(rule: IdRule, messages: &[Arc<Message>]) -> Vec<Vec<String>> {
    let ids = CallIds::new(rule, messages);
    let of = |message: &Arc<Message>| {
        let blocks = message.content.iter().enumerate();
        blocks
            .map(|(position, block)| match block {
                ContentBlock::ToolCall(call) => ids.wire(message, position, call.id.as_str()),
                ContentBlock::ToolResult(result) => {
                    ids.wire(message, position, result.call_id.as_str())
                }
                _ => Cow::Borrowed(""),
            })
            .map(Cow::into_owned)
            .collect()
    };
    messages.iter().map(of).collect()
}

#[test]
fn ids_that_fit_stay_as_they_are() {
    let own = [
        (IdRule::Anthropic, "toolu_01A09q90qw90lq917835lq9"),
        (
            IdRule::OpenAiChat,
            "call_62136354-f4a6-4e9e-ba4f-0f0c4d2dc4",
        ),
        (IdRule::OpenAiChat, "functions.read:0"),
        (IdRule::OpenAiResponses, "fc_12345xyz:8"),
        (IdRule::Mistral, "D681PevKs"),
    ];
    for (rule, id) in own {
        assert_eq!(rule.adapted(id), id);
    }
}

#[test]
fn ids_of_others_are_replaced_alike_in_calls_and_results() {
    let foreign = ["functions.read:0", "call_0", &"x".repeat(100), "", "é"];
    for rule in RULES {
        let messages = [calls(&foreign), results(&foreign)];
        let ids = sent(rule, &messages);
        assert_eq!(ids[0], ids[1]);
        assert!(ids[0].iter().all(|id| rule.accepts(id)), "{ids:?}");
        assert_eq!(sent(rule, &messages), ids, "always the same");
        let distinct: std::collections::HashSet<&String> = ids[0].iter().collect();
        assert_eq!(distinct.len(), foreign.len());
    }
}

#[test]
fn an_id_that_is_used_again_is_distinguished_from_the_first() {
    for rule in RULES {
        let messages = [
            calls(&["call_0", "call_1"]),
            results(&["call_0", "call_1"]),
            calls(&["call_0", "call_0"]),
            results(&["call_0", "call_0"]),
        ];
        let ids = sent(rule, &messages);
        assert_eq!(ids[0], ids[1]);
        assert_eq!(ids[2], ids[3]);
        let distinct: std::collections::HashSet<&String> = ids[0].iter().chain(&ids[2]).collect();
        assert_eq!(distinct.len(), 4, "{ids:?}");
        // What was sent before stays the same.
        assert_eq!(sent(rule, &messages[..2]), ids[..2]);
    }
}

#[test]
fn models_of_mistral_are_known_wherever_they_are_served() {
    for model in [
        "mistral-large-latest",
        "mistralai/devstral-small",
        "Codestral-2508",
    ] {
        assert_eq!(IdRule::of_chat_model(model), IdRule::Mistral);
    }
    for model in ["gpt-5", "anthropic/claude-sonnet-4.5"] {
        assert_eq!(IdRule::of_chat_model(model), IdRule::OpenAiChat);
    }
}

proptest! {
    #[test]
    fn any_id_fits(ids in prop::collection::vec(".{0,80}", 1..8)) {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        for rule in RULES {
            let wire = sent(rule, &[calls(&ids), results(&ids)]);
            prop_assert_eq!(&wire[0], &wire[1]);
            prop_assert!(wire[0].iter().all(|id| rule.accepts(id)));
            let distinct: std::collections::HashSet<&String> = wire[0].iter().collect();
            prop_assert_eq!(distinct.len(), ids.len());
        }
    }
}
