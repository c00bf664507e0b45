use proptest::prelude::*;

use super::{BlockItem, BlockParser, Tag};

const TAGS: &[Tag] = &[Tag::TOOL_CALL, Tag::TASK];
const LIMIT: usize = 40;

/// What was found, joined so that two cuts of the same text can be compared.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Text(String),
    Closed(&'static str, String, usize),
    Unclosed(&'static str, String, usize),
}

fn parse<'t>(pieces: impl IntoIterator<Item = &'t str>) -> Vec<Found> {
    let mut parser = BlockParser::with_limit(TAGS, LIMIT);
    let mut found = Vec::new();
    let mut open: Option<(&'static str, String)> = None;
    let mut sink = |item: BlockItem<'_>| match item {
        BlockItem::Text(text) => {
            assert!(open.is_none() && !text.is_empty());
            match found.last_mut() {
                Some(Found::Text(last)) => last.push_str(text),
                _ => found.push(Found::Text(text.to_owned())),
            }
        }
        BlockItem::BlockStart { tag } => {
            assert!(open.replace((tag, String::new())).is_none());
        }
        BlockItem::BlockDelta { tag, text } => {
            let (name, body) = open.as_mut().unwrap();
            assert!(*name == tag && !text.is_empty());
            body.push_str(text);
        }
        BlockItem::BlockEnd { tag, body } => {
            assert_eq!(open.take().unwrap(), (tag, body.text.to_owned()));
            found.push(Found::Closed(tag, body.text.to_owned(), body.dropped_bytes));
        }
        BlockItem::BlockUnclosed { tag, body } => {
            assert_eq!(open.take().unwrap(), (tag, body.text.to_owned()));
            found.push(Found::Unclosed(
                tag,
                body.text.to_owned(),
                body.dropped_bytes,
            ));
        }
    };
    for piece in pieces {
        parser.feed(piece, &mut sink);
    }
    parser.finish(&mut sink);
    found
}

/// The same for a text that is there as a whole, written without looking at the parser.
fn parse_whole(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let first = TAGS
            .iter()
            .filter_map(|tag| Some((rest.find(tag.open)?, tag)))
            .min_by_key(|(at, _)| *at);
        let Some((at, tag)) = first else {
            break;
        };
        if at > 0 {
            found.push(Found::Text(rest[..at].to_owned()));
        }
        let inner = &rest[at + tag.open.len()..];
        let limited = |body: &str| {
            let mut kept = String::new();
            for character in body.chars() {
                if kept.len() + character.len_utf8() > LIMIT {
                    break;
                }
                kept.push(character);
            }
            let dropped = body.len() - kept.len();
            (kept, dropped)
        };
        match inner.split_once(tag.close) {
            Some((body, behind)) => {
                let (kept, dropped) = limited(body);
                found.push(Found::Closed(tag.name, kept, dropped));
                rest = behind;
            }
            None => {
                let (kept, dropped) = limited(inner);
                found.push(Found::Unclosed(tag.name, kept, dropped));
                return found;
            }
        }
    }
    if !rest.is_empty() {
        found.push(Found::Text(rest.to_owned()));
    }
    found
}

fn text(text: &str) -> Found {
    Found::Text(text.to_owned())
}

fn closed(tag: &'static str, body: &str) -> Found {
    Found::Closed(tag, body.to_owned(), 0)
}

fn unclosed(tag: &'static str, body: &str) -> Found {
    Found::Unclosed(tag, body.to_owned(), 0)
}

#[test]
fn blocks_and_what_only_looks_like_them() {
    let call = "tool_call";
    let table: &[(&str, &[Found])] = &[
        ("", &[]),
        ("plain", &[text("plain")]),
        (
            "a <tool_call>{}</tool_call> b",
            &[text("a "), closed(call, "{}"), text(" b")],
        ),
        ("<tool_call></tool_call>", &[closed(call, "")]),
        (
            "<tool_call>1</tool_call><task>2</task>",
            &[closed(call, "1"), closed("task", "2")],
        ),
        ("<<tool_call>1</tool_call>", &[text("<"), closed(call, "1")]),
        (
            "<tool_<tool_call>1<</tool_call>",
            &[text("<tool_"), closed(call, "1<")],
        ),
        (
            "<ta<task>1</ta</task></task>",
            &[text("<ta"), closed("task", "1</ta"), text("</task>")],
        ),
        // The first closing tag ends the block, in a string too.
        (
            r#"<tool_call>{"a":"</tool_call>"}</tool_call>"#,
            &[closed(call, r#"{"a":""#), text(r#""}</tool_call>"#)],
        ),
        // Other tags within a block are body.
        (
            "<task><tool_call></tool_call></task>",
            &[closed("task", "<tool_call></tool_call>")],
        ),
        // Tags are exact.
        (
            "<Tool_Call></ task><task >",
            &[text("<Tool_Call></ task><task >")],
        ),
        ("a </tool_call> b", &[text("a </tool_call> b")]),
        ("a <tool_cal", &[text("a <tool_cal")]),
        (
            r#"text <tool_call>{"name":"#,
            &[text("text "), unclosed(call, r#"{"name":"#)],
        ),
        ("<task>a</tas", &[unclosed("task", "a</tas")]),
        (
            "é<task>é</task>é",
            &[text("é"), closed("task", "é"), text("é")],
        ),
    ];
    for (input, expected) in table {
        assert_eq!(&parse([*input]), expected, "{input}");
        assert_eq!(&parse(input.split_inclusive(|_| true)), expected, "{input}");
        assert_eq!(&parse_whole(input), expected, "{input}");
    }
}

#[test]
fn text_is_held_back_only_while_it_could_become_a_tag() {
    let mut parser = BlockParser::new(TAGS);
    let mut feed = |piece: &str| {
        let mut items = Vec::new();
        parser.feed(piece, |item| items.push(format!("{item:?}")));
        items.join(" ")
    };
    assert_eq!(feed("a<"), r#"Text("a")"#);
    assert_eq!(feed("t"), "");
    assert_eq!(feed("ask"), "");
    assert_eq!(feed("s b"), r#"Text("<task") Text("s b")"#);
    assert_eq!(feed("<b<"), r#"Text("<b")"#);
    assert_eq!(feed("<"), r#"Text("<")"#);
    assert_eq!(
        feed("task>x</"),
        r#"BlockStart { tag: "task" } BlockDelta { tag: "task", text: "x" }"#
    );
    assert_eq!(
        feed("b"),
        r#"BlockDelta { tag: "task", text: "</" } BlockDelta { tag: "task", text: "b" }"#
    );
    assert_eq!(
        feed("</task>."),
        r#"BlockEnd { tag: "task", body: BlockBody { text: "x</b", dropped_bytes: 0 } } Text(".")"#
    );
}

#[test]
fn a_body_is_cut_at_the_limit_and_the_block_still_ends() {
    let long = "é".repeat(LIMIT);
    let input = format!("<task>.{long}</task> after");
    // One byte is taken, so that the limit falls within a character.
    let kept = format!(".{}", "é".repeat(LIMIT / 2 - 1));
    let expected = [
        Found::Closed("task", kept.clone(), 2 * LIMIT + 1 - kept.len()),
        text(" after"),
    ];
    assert_eq!(parse([input.as_str()]), expected);
    assert_eq!(parse(input.split_inclusive(|_| true)), expected);
}

#[test]
fn a_finished_parser_is_as_new() {
    let mut parser = BlockParser::new(TAGS);
    parser.feed("<task>a</ta", |_| {});
    assert!(!parser.is_plain("a"));
    parser.finish(|_| {});
    assert!(parser.is_plain("a") && !parser.is_plain("<"));
    let mut items = Vec::new();
    parser.feed("sk>", |item| items.push(format!("{item:?}")));
    assert_eq!(items, [r#"Text("sk>")"#]);
}

/// Texts made of what matters to the parser.
fn telling_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("<tool_call>"),
        Just("</tool_call>"),
        Just("<task>"),
        Just("</task>"),
        Just("<"),
        Just("</"),
        Just("<t"),
        Just("ool_call>"),
        Just("ask>"),
        Just(">"),
        Just("a"),
        Just("日本"),
        Just("{\"name\": \"x\"}\n"),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// `text` cut at the given places.
fn cut(text: &str, at: &[prop::sample::Index]) -> Vec<String> {
    let mut places: Vec<usize> = at
        .iter()
        .map(|index| text.floor_char_boundary(index.index(text.len() + 1)))
        .collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for to in places {
        pieces.push(text[from..to].to_owned());
        from = to;
    }
    pieces.push(text[from..].to_owned());
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_cut_finds_what_the_whole_text_holds(
        text in telling_text(),
        at in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let expected = parse_whole(&text);
        let pieces = cut(&text, &at);
        prop_assert_eq!(parse(pieces.iter().map(String::as_str)), expected.clone());
        prop_assert_eq!(parse(text.split_inclusive(|_| true)), expected.clone());
        for place in (0..=text.len()).filter(|&place| text.is_char_boundary(place)) {
            let (head, tail) = text.split_at(place);
            prop_assert_eq!(parse([head, tail]), expected.clone());
        }
    }
}
