use std::sync::Arc;

use zot_conversation::{
    Arguments, ContentBlock, Message, Role, Timestamp, ToolCall, ToolResult, Usage,
};

use super::rendered::rendered;
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

#[test]
fn what_a_model_said_is_rendered() {
    let text = "# Title\n\nSome *stress*, **more**, ~~less~~ and `a < b`.\n\n\
                - one\n- [x] done\n  1. nested\n\n3. three\n\n> quoted\n\n\
                ```rust\nfn main() { if 1 < 2 {} }\n```\n\n\
                | a | b |\n|--:|:-:|\n| 1 | `2` |\n\n\
                [here](https://example.org/?a=1&b=2) and <mailto:ada@example.org>\n\n---\n";
    let html = rendered(text);
    for part in [
        "<h1>Title</h1>",
        "Some <em>stress</em>, <strong>more</strong>, <del>less</del> and <code>a &lt; b</code>.",
        "<li>☑ done<ol>\n<li>nested</li>",
        "<ol start=\"3\">",
        "<blockquote>\n<p>quoted</p>",
        "<pre class=\"code\"><code class=\"language-rust\">fn main() { if 1 &lt; 2 {} }\n</code></pre>",
        "<thead><tr><th class=\"right\">a</th><th class=\"centre\">b</th></tr></thead>",
        "<td class=\"right\">1</td><td class=\"centre\"><code>2</code></td>",
        "<a href=\"https://example.org/?a=1&amp;b=2\" rel=\"noopener noreferrer nofollow\">here</a>",
        "<a href=\"mailto:ada@example.org\"",
        "<hr>",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    let mut session = session();
    let said = |role, text: &str| {
        Arc::new(Message {
            role,
            content: vec![ContentBlock::Text(text.to_owned())],
            time: Timestamp::UNIX_EPOCH,
        })
    };
    session.messages = vec![
        said(Role::User, "# typed *so*"),
        said(Role::Assistant, text),
    ];
    let page = super::html(&session);
    assert!(page.contains("<h1>Title</h1>"), "{page}");
    assert!(
        page.contains("<div class=\"text\"># typed *so*</div>"),
        "{page}"
    );
}

/// Whatever a model writes, nothing of it is markup of the page, and no link runs anything.
#[test]
fn nothing_that_is_rendered_gets_out_of_its_place() {
    let allowed = [
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "strong",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ];
    for text in [
        HOSTILE,
        "<div onclick=alert(1)>\n<script>alert(1)</script>\n</div>",
        "text <img src=x onerror=alert(1)> <!-- --> <?x?> &lt;script&gt; &#60;script&#62;",
        "```\"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```",
        "```x\"onload=\"alert(1)\ncode\n```",
        "    </pre><script>alert(1)</script>",
        "`</code><script>`",
        "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>) [d](vbscript:x)",
        "[a](<java\tscript:alert(1)>) [b](&#106;avascript:alert(1)) [c](\\u{1}javascript:alert(1))",
        "[a](//evil.example) [b](file:///etc/passwd) [c](x\" onclick=\"alert(1))",
        "[a](http://x/\"onmouseover=\"alert(1)) <http://x/\"onmouseover=\"alert(1)>",
        "![a](http://tracker.example/pixel.png) ![\"><script>](javascript:x)",
        "[![i](http://a.example/i.png)](http://b.example/)",
        "| <script> | b |\n|--|--|\n| </td></table><script> | x |",
        "# </h1><script>alert(1)</script>",
        "[x]: javascript:alert(1)\n\n[x] [y][x]",
    ] {
        let html = rendered(text);
        for tag in html.split('<').skip(1) {
            let name = tag.trim_start_matches('/');
            let name: String = name
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            assert!(
                allowed.contains(&name.as_str()),
                "{name:?} of {text:?}\n{html}"
            );
            let (tag, _) = tag.split_once('>').unwrap();
            for attribute in ["on", "src", "style"] {
                assert!(
                    !tag.contains(&format!(" {attribute}")),
                    "{tag:?} of {text:?}"
                );
            }
            if let Some((_, target)) = tag.split_once("href=\"") {
                assert!(
                    target.starts_with("http://") || target.starts_with("https://"),
                    "{tag}"
                );
                assert_eq!(target.matches('"').count(), 3, "{tag}");
            }
        }
        for element in ["a", "pre", "code", "table", "p", "h1"] {
            let opened = html.matches(&format!("<{element}>")).count()
                + html.matches(&format!("<{element} ")).count();
            let closed = html.matches(&format!("</{element}>")).count();
            assert_eq!(opened, closed, "{element} of {text:?}\n{html}");
        }
    }
}
