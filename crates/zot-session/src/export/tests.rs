use std::sync::Arc;

use zot_conversation::{
    Arguments, ContentBlock, Message, Role, Timestamp, ToolCall, ToolResult, Usage,
};

use super::{grouped, html, markdown};
use crate::{ReadReport, Session, SessionMeta, TurnUsage};

const HOSTILE: &str = "<script>alert('1')</script> & \"quoted\" \u{202e}evil\u{7}";

fn session() -> Session {
    let message = |role, content| {
        Arc::new(Message {
            role,
            content,
            time: Timestamp::UNIX_EPOCH,
        })
    };
    let usage = Usage {
        input: 1200,
        output: 34,
        cost_usd: 0.0123,
        ..Usage::default()
    };
    let result = |text: &str| {
        ContentBlock::ToolResult(ToolResult {
            call_id: "1".into(),
            is_error: false,
            content: vec![ContentBlock::Text(text.to_owned())],
        })
    };
    Session {
        meta: SessionMeta::new("/work".into(), "p".into(), HOSTILE.into()),
        began: None,
        messages: vec![
            message(Role::User, vec![ContentBlock::Text(HOSTILE.to_owned())]),
            message(
                Role::Assistant,
                vec![ContentBlock::ToolCall(ToolCall {
                    id: "1".into(),
                    name: HOSTILE.to_owned(),
                    arguments: Arguments::from_model_text(
                        "{\"path\":\"</pre><img src=http://x>\"}",
                    ),
                })],
            ),
            message(
                Role::Tool,
                vec![
                    result("@@ -1 +1 @@\n-<old>\n+<new>\n"),
                    result("```` four ticks\n</details>"),
                ],
            ),
        ],
        usage,
        turns: vec![TurnUsage { messages: 2, usage }],
        report: ReadReport::default(),
    }
}

#[test]
fn nothing_that_was_said_becomes_part_of_the_page() {
    let page = html(&session());
    for forbidden in [
        "<script",
        "<img",
        "<old>",
        "\u{202e}",
        "\u{7}",
        "</details></pre>",
    ] {
        assert!(!page.contains(forbidden), "{forbidden:?}\n{page}");
    }
    // Elements of the page itself, all closed.
    for element in ["details", "section", "pre", "span", "svg", "main"] {
        let opened = page.matches(&format!("<{element}")).count();
        let closed = page.matches(&format!("</{element}>")).count();
        assert_eq!(opened, closed, "{element}");
        assert!(opened > 0, "{element}");
    }
    assert!(page.contains("<span class=\"del\">-&lt;old&gt;</span>"));
    assert!(page.contains("<span class=\"add\">+&lt;new&gt;</span>"));
    assert!(page.contains("1,200 tokens in, 34 out, $0.0123"));
    assert!(page.contains("prefers-color-scheme:dark"));
}

#[test]
fn the_result_of_an_edit_is_a_diff_without_saying_so() {
    let mut session = session();
    let call = |name: &str| {
        ContentBlock::ToolCall(ToolCall {
            id: "2".into(),
            name: name.to_owned(),
            arguments: Arguments::empty(),
        })
    };
    let result = ContentBlock::ToolResult(ToolResult {
        call_id: "2".into(),
        is_error: false,
        content: vec![ContentBlock::Text(" same\n-old\n+new\n".to_owned())],
    });
    for (name, coloured) in [("edit", true), ("read", false)] {
        session.messages = [(Role::Assistant, call(name)), (Role::Tool, result.clone())]
            .map(|(role, block)| {
                Arc::new(Message {
                    role,
                    content: vec![block],
                    time: Timestamp::UNIX_EPOCH,
                })
            })
            .into();
        assert_eq!(html(&session).contains("class=\"del\""), coloured, "{name}");
        assert_eq!(markdown(&session).contains("```diff"), coloured, "{name}");
    }
}

#[test]
fn the_page_asks_for_nothing_from_anywhere() {
    let page = html(&session());
    for request in [
        "src=\"http",
        "href=\"http",
        "url(",
        "@import",
        "<link",
        "<iframe",
    ] {
        assert!(!page.contains(request), "{request}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn markdown_fences_what_has_fences_and_names_the_cost() {
    let text = markdown(&session());
    assert!(
        text.contains("\n`````\n```` four ticks\n</details>\n`````\n"),
        "{text}"
    );
    assert!(text.contains("```diff\n@@ -1 +1 @@"), "{text}");
    assert!(
        text.contains("*1,200 tokens in, 34 out, $0.0123*"),
        "{text}"
    );
    assert!(
        text.contains("## User\n\n<script>"),
        "text stays as it was: {text}"
    );
}

#[test]
fn numbers_are_grouped() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1000), "1,000");
    assert_eq!(grouped(1234567), "1,234,567");
}
