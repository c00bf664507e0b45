use base64::Engine as _;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop, prop_oneof, proptest};
use zot_agent::repair;
use zot_conversation::Transcript;
use zot_wire::rpc::{FullBlock, FullMessage, Role};

use super::{export, import};

fn plain_block() -> BoxedStrategy<FullBlock> {
    prop_oneof![
        ".{0,20}".prop_map(|text| FullBlock::Text { text }),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(|bytes| FullBlock::Image {
            mime_type: "image/png".to_owned(),
            data: Some(super::STANDARD.encode(bytes)),
        }),
    ]
    .boxed()
}

fn call(id: &str, text: &str) -> FullBlock {
    let arguments = zot_conversation::Arguments::from_model_text(text);
    FullBlock::ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        args: Some(crate::wire::arguments(&arguments)),
        args_text: Some(text.to_owned()),
    }
}

fn message(role: Role, content: Vec<FullBlock>) -> FullMessage {
    FullMessage {
        role,
        content,
        time: Some("2026-11-15T21:00:00.5Z".to_owned()),
    }
}

fn reasoning() -> BoxedStrategy<FullBlock> {
    let maybe = || prop::option::of("[a-z]{1,8}");
    ("[a-z]{1,8}", ".{0,10}", maybe(), maybe(), maybe(), maybe())
        .prop_map(
            |(provider, text, signature, encrypted, id, prefix)| FullBlock::Reasoning {
                details: Some(format!("[{text:?}]")).filter(|_| provider.len() > 4),
                provider,
                text,
                signature,
                encrypted,
                id,
                prefix,
            },
        )
        .boxed()
}

/// Generates messages that belong together and need no repair.
fn exchange() -> BoxedStrategy<Vec<FullMessage>> {
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just("{\"path\":  \"a b\", \"n\": 1.50}".to_owned()),
        Just("{\"broken".to_owned()),
    ];
    let user = prop::collection::vec(plain_block(), 1..3).prop_map(|c| message(Role::User, c));
    let results = prop::collection::vec(plain_block(), 0..3);
    (
        user,
        reasoning(),
        ".{1,9}",
        arguments,
        results,
        any::<bool>(),
    )
        .prop_map(|(user, thought, text, arguments, content, is_error)| {
            let answer = vec![thought, FullBlock::Text { text }, call("c1", &arguments)];
            let result = FullBlock::ToolResult {
                call_id: "c1".to_owned(),
                is_error,
                content,
            };
            vec![
                user,
                message(Role::Assistant, answer),
                message(Role::Tool, vec![result]),
            ]
        })
        .boxed()
}

proptest! {
    /// Even after a client has parsed and reformatted the JSON.
    #[test]
    fn export_and_import_round_trip(
        exchanges in prop::collection::vec(exchange(), 0..4),
    ) {
        let given: Vec<FullMessage> = exchanges.into_iter().flatten().collect();
        let imported = import(given.clone()).unwrap();
        assert!(repair(&imported).is_none());
        let exported = export(&Transcript::from(imported));
        assert_eq!(exported, given);
        let value = serde_json::to_value(&exported).unwrap();
        let reread: Vec<FullMessage> =
            serde_json::from_str(&serde_json::to_string_pretty(&value).unwrap()).unwrap();
        assert_eq!(export(&Transcript::from(import(reread).unwrap())), given);
    }
}

#[test]
fn errors_name_the_position() {
    let text = || FullBlock::Text {
        text: "x".to_owned(),
    };
    let no_data = FullBlock::Image {
        mime_type: "image/png".to_owned(),
        data: None,
    };
    for (messages, expected) in [
        (
            vec![message(Role::User, vec![text(), no_data])],
            "messages[0].content[1]: the image has no data",
        ),
        (
            vec![
                message(Role::User, vec![text()]),
                message(Role::User, vec![call("a", "{}")]),
            ],
            "messages[1].content[0]: a tool_call is not allowed",
        ),
        (
            vec![FullMessage {
                time: Some("yesterday".to_owned()),
                ..message(Role::User, vec![text()])
            }],
            "messages[0].time: ",
        ),
        (
            vec![message(
                Role::Tool,
                vec![FullBlock::ToolResult {
                    call_id: "a".to_owned(),
                    is_error: false,
                    content: vec![call("b", "{}")],
                }],
            )],
            "messages[0].content[0]: a tool_result may contain only text and images",
        ),
    ] {
        let error = import(messages).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
