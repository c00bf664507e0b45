use std::sync::Arc;

use serde_json::value::RawValue;
use zot_conversation::{
    Arguments, ContentBlock, Image, Message, ModelRequest, Role, Sampling, Timestamp, ToolCall,
    ToolDefinition, ToolEffect, ToolResult,
};

use super::{INTRODUCTION, Reply, reply};

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.to_owned())
}

/// A conversation with an agent that has the given tools.
struct Conversation {
    tools: Vec<Arc<ToolDefinition>>,
    messages: Vec<Arc<Message>>,
}

impl Conversation {
    fn new(tools: &[&str]) -> Self {
        let definition = |name: &&str| {
            Arc::new(ToolDefinition {
                name: (*name).to_owned(),
                description: String::new(),
                parameters: RawValue::from_string("{}".to_owned()).unwrap(),
                effect: ToolEffect::Changes,
            })
        };
        Self {
            tools: tools.iter().map(definition).collect(),
            messages: Vec::new(),
        }
    }

    fn with_all_tools() -> Self {
        Self::new(&["read", "write", "edit", "bash"])
    }

    fn reply(&self) -> Reply {
        let request = ModelRequest {
            model: "offline",
            system: "You are zot.",
            messages: &self.messages,
            tools: &self.tools,
            reasoning: None,
            max_output: 4096,
            sampling: Sampling::default(),
        };
        let first = reply(&request);
        assert_eq!(first, reply(&request), "the response is always the same");
        first
    }

    fn ask(&mut self, prompt: &str) -> Reply {
        self.messages.push(message(Role::User, vec![text(prompt)]));
        self.reply()
    }

    /// Adds `reply` and the results of its calls, then asks again.
    fn continue_with(&mut self, reply: &Reply, results: &[(bool, &str)]) -> Reply {
        assert_eq!(reply.calls.len(), results.len());
        let calls = reply.calls.iter().map(|call| {
            ContentBlock::ToolCall(ToolCall {
                id: call.id.as_str().into(),
                name: call.name.to_owned(),
                arguments: Arguments::from_model_text(&call.arguments),
            })
        });
        let content = std::iter::once(text(&reply.text)).chain(calls).collect();
        self.messages.push(message(Role::Assistant, content));
        let results = reply
            .calls
            .iter()
            .zip(results)
            .map(|(call, (is_error, result))| {
                ContentBlock::ToolResult(ToolResult {
                    call_id: call.id.as_str().into(),
                    is_error: *is_error,
                    content: vec![text(result)],
                })
            });
        self.messages.push(message(Role::Tool, results.collect()));
        self.reply()
    }

    fn end_turn(&mut self, reply: &Reply) {
        assert!(reply.calls.is_empty());
        self.messages
            .push(message(Role::Assistant, vec![text(&reply.text)]));
    }
}

/// The calls of a reply as `tool {arguments}`.
fn calls(reply: &Reply) -> Vec<String> {
    let calls = reply.calls.iter();
    calls
        .map(|call| format!("{} {}", call.name, call.arguments))
        .collect()
}

#[test]
fn a_request_becomes_a_call() {
    for (prompt, expected) in [
        ("list the files", r#"bash {"command":"ls -1Ap"}"#),
        ("read README.md", r#"read {"path":"README.md"}"#),
        (
            "write \"hello\" to a.txt",
            r#"write {"content":"hello","path":"a.txt"}"#,
        ),
        ("run `make`", r#"bash {"command":"make"}"#),
        (
            "count the lines in it's.txt",
            r#"bash {"command":"awk 'END { print NR }' < 'it'\\''s.txt'"}"#,
        ),
    ] {
        let reply = Conversation::with_all_tools().ask(prompt);
        assert_eq!(calls(&reply), [expected], "{prompt}");
        assert!(reply.text.starts_with(INTRODUCTION), "{}", reply.text);
        assert!(reply.text.contains("I will "), "{}", reply.text);
    }
}

#[test]
fn the_next_response_describes_the_results() {
    for (prompt, (is_error, result), expected) in [
        (
            "list the files",
            (
                false,
                "$ ls -1Ap\n\nsrc/\na.txt\nb.txt\n\n[exit 0]  Took 0.0s",
            ),
            "In the current directory I found 1 directory (src/) and 2 files (a.txt, b.txt).",
        ),
        (
            "list the files",
            (false, "$ ls -1Ap\n\n\n[exit 0]  Took 0.0s"),
            "There is nothing in the current directory.",
        ),
        (
            "list the files",
            (
                true,
                "$ ls -1Ap\n\nls: .: No such file\n\n[exit 2]  Took 0.0s",
            ),
            "I could not list the files in the current directory:\n\n    ls: .: No such file",
        ),
        (
            "count the lines in a.txt",
            (
                false,
                "$ awk 'END { print NR }' < 'a.txt'\n\n7\n\n[exit 0]  Took 0.0s",
            ),
            "a.txt has 7 lines.",
        ),
        (
            "read a.txt",
            (false, "one\ntwo\n"),
            "a.txt has 2 lines. It says:\n\n    one\n    two",
        ),
        ("read a.txt", (false, ""), "a.txt is empty."),
        (
            "read a.txt",
            (true, "stat a.txt: no such file or directory"),
            "I could not read a.txt:\n\n    stat a.txt: no such file or directory",
        ),
        (
            "write \"hi\" to a.txt",
            (false, "hi"),
            "I wrote 2 bytes to a.txt.",
        ),
        (
            "run `false`",
            (true, "$ false\n\n\n[exit 1]  Took 0.0s"),
            "`false` ended with exit code 1 and printed nothing.",
        ),
        (
            "run: echo hi",
            (false, "$ echo hi\n\nhi\n\n[exit 0]  Took 0.0s"),
            "`echo hi` ended with exit code 0 and printed:\n\n    hi",
        ),
    ] {
        let mut conversation = Conversation::with_all_tools();
        let first = conversation.ask(prompt);
        let second = conversation.continue_with(&first, &[(is_error, result)]);
        assert_eq!(second.text, expected, "{prompt}");
        assert!(second.calls.is_empty(), "{prompt}");
    }
}

#[test]
fn reads_share_a_response_and_changes_do_not() {
    let mut conversation = Conversation::with_all_tools();
    let first = conversation.ask(
        "list the files and count the lines in a.txt and write \"x\" to a.txt and run `cat a.txt`",
    );
    let ids =
        |reply: &Reply| -> Vec<String> { reply.calls.iter().map(|call| call.id.clone()).collect() };
    assert_eq!(ids(&first), ["offline_1", "offline_2"]);
    assert!(
        first.text.ends_with(
            "I will list the files in the current directory and count the lines in a.txt."
        ),
        "{}",
        first.text
    );

    let second = conversation.continue_with(&first, &[(false, "a.txt\n"), (false, "3\n")]);
    assert_eq!(
        second.text,
        "In the current directory I found 1 file (a.txt).\n\na.txt has 3 lines.\n\nI will write 1 byte to a.txt."
    );
    assert_eq!(ids(&second), ["offline_3"]);

    let third = conversation.continue_with(&second, &[(false, "x")]);
    assert_eq!(
        third.text,
        "I wrote 1 byte to a.txt.\n\nI will run `cat a.txt`."
    );
    assert_eq!(ids(&third), ["offline_4"]);

    let last = conversation.continue_with(&third, &[(false, "x\n")]);
    assert_eq!(last.text, "`cat a.txt` ended and printed:\n\n    x");
    conversation.end_turn(&last);

    let next = conversation.ask("read a.txt");
    assert_eq!(ids(&next), ["offline_5"]);
    assert_eq!(next.text, "I will read a.txt.", "it introduces itself once");
}

#[test]
fn ids_exceed_those_of_a_shortened_conversation() {
    let mut conversation = Conversation::with_all_tools();
    let mut reply = conversation.ask("list the files");
    reply.calls[0].id = "offline_41".to_owned();
    let end = conversation.continue_with(&reply, &[(false, "")]);
    conversation.end_turn(&end);
    assert_eq!(conversation.ask("read a.txt").calls[0].id, "offline_42");
}

#[test]
fn a_missing_tool_is_reported_and_the_others_are_called() {
    let mut conversation = Conversation::new(&["read"]);
    let reply = conversation.ask("list the files and read a.txt");
    assert_eq!(calls(&reply), [r#"read {"path":"a.txt"}"#]);
    let sentence = "I would list the files in the current directory with the `bash` tool, \
                    but that tool is not available here.";
    assert!(reply.text.contains(sentence), "{}", reply.text);
    let end = conversation.continue_with(&reply, &[(false, "one\n")]);
    assert!(end.text.starts_with("a.txt has 1 line."), "{}", end.text);

    let reply = Conversation::new(&[]).ask("read a.txt");
    assert!(reply.calls.is_empty());
    assert!(reply.text.contains("I would read a.txt"), "{}", reply.text);
}

#[test]
fn any_other_prompt_gets_the_list_of_requests() {
    for prompt in [
        "Prove Fermat's last theorem",
        "hello",
        "",
        "list the files and write a poem",
    ] {
        let reply = Conversation::with_all_tools().ask(prompt);
        assert!(reply.calls.is_empty(), "{prompt}");
        assert!(reply.text.starts_with(INTRODUCTION), "{}", reply.text);
        assert!(reply.text.contains("read README.md"), "{}", reply.text);
    }
}

#[test]
fn every_example_of_the_help_text_works() {
    let help = Conversation::with_all_tools().ask("help").text;
    let examples: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("- "))
        .map(|line| line.split(" (").next().unwrap())
        .collect();
    assert_eq!(examples.len(), 6);
    for example in examples {
        let reply = Conversation::with_all_tools().ask(example);
        assert_eq!(reply.calls.len(), 1, "{example}");
    }
}

#[test]
fn the_response_to_an_image_admits_that_it_cannot_see() {
    let mut conversation = Conversation::with_all_tools();
    let image = ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: Default::default(),
    });
    let content = vec![text("read a.txt"), image];
    conversation.messages.push(message(Role::User, content));
    let reply = conversation.reply();
    assert!(reply.text.contains("I cannot see images."));
    assert_eq!(reply.calls.len(), 1);
}

#[test]
fn a_mirrored_image_is_not_a_prompt() {
    let mut conversation = Conversation::with_all_tools();
    let first = conversation.ask("read a.png");
    conversation.continue_with(&first, &[(false, "(image)")]);
    let reply =
        conversation.ask("Tool output included the following image content:\nlist the files");
    assert!(reply.calls.is_empty());
    assert!(
        reply.text.starts_with("a.png has 1 line."),
        "{}",
        reply.text
    );
}

#[test]
fn a_prompt_that_was_compacted_away_still_ends() {
    let mut conversation = Conversation::with_all_tools();
    let first = conversation.ask("run `date` and run `uptime`");
    conversation.messages.clear();
    conversation.ask("## Context Summary (compacted)\n\nlist the files");
    let reply = conversation.continue_with(&first, &[(false, "Sunday")]);
    assert!(reply.calls.is_empty());
    assert_eq!(reply.text, "The tool answered:\n\n    Sunday");
}

#[test]
fn a_compaction_is_not_a_request() {
    let mut conversation = Conversation::with_all_tools();
    let reply = conversation.ask("<conversation>\n[user]\nlist the files\n</conversation>");
    assert!(reply.calls.is_empty());
    assert!(reply.text.contains("cannot summarise"), "{}", reply.text);
}

#[test]
fn long_results_are_shortened() {
    let mut conversation = Conversation::with_all_tools();
    let first = conversation.ask("read a.txt and run `yes`");
    let long = "ä line that is rather long\n".repeat(10_000);
    let second = conversation.continue_with(&first, &[(false, &long)]);
    assert!(second.text.len() < 2_000, "{}", second.text.len());
    let third = conversation.continue_with(&second, &[(true, &long)]);
    assert!(third.text.len() < 2_000, "{}", third.text.len());
}

#[test]
fn any_tool_can_be_called_by_name() {
    let mut conversation = Conversation::with_all_tools();
    let reply = conversation.ask(r#"call weather {"city": "Berlin"}"#);
    assert!(reply.calls.is_empty());
    assert!(
        reply
            .text
            .contains("the `weather` tool, but that tool is not available"),
        "{}",
        reply.text
    );
    let first = conversation.ask(r#"call edit {"path": "a"}"#);
    assert_eq!(first.calls[0].name, "edit");
    let last = conversation.continue_with(&first, &[(false, "done")]);
    assert_eq!(last.text, "edit answered:\n\n    done");
}
