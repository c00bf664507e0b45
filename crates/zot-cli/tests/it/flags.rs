//! Flags and their combinations, as in the original.

mod resume;

use std::fs;

use serde_json::Value;
use testkit::{Finished, ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

/// The outcome of a run.
struct Ran {
    ended: Finished,
    /// The bodies of the requests to the model.
    requests: Vec<Value>,
    workdir: Workdir,
}

impl Ran {
    fn prompts(&self) -> Vec<String> {
        let prompts = self.requests.iter().flat_map(user_texts);
        prompts.collect()
    }

    fn tools(&self) -> Vec<String> {
        let tools = self.requests[0]["tools"].as_array().into_iter().flatten();
        let names = tools.filter_map(|tool| tool["function"]["name"].as_str());
        names.map(ToOwned::to_owned).collect()
    }

    fn session_files(&self) -> usize {
        let directories = fs::read_dir(self.workdir.zot_home().join("sessions"));
        let files = directories.into_iter().flatten().flatten();
        let files =
            files.filter_map(|directory| Some(fs::read_dir(directory.path()).ok()?.count()));
        files.sum()
    }

    fn system_prompt(&self) -> String {
        self.requests[0]["messages"][0]["content"].to_string()
    }
}

/// Returns the texts of the user's messages in a request on the OpenAI wire.
fn user_texts(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages
        .filter(|message| message["role"] == "user")
        .map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}

fn run_in(workdir: Workdir, arguments: &[&str], stdin: &str) -> Ran {
    let server = ModelServer::start();
    let ended = ZotCommand::new(binary(), &workdir)
        .model(&server, Wire::OpenAi)
        .arguments(arguments)
        .run(stdin);
    let requests = server.requests().into_iter().map(|request| request.body);
    Ran {
        ended,
        requests: requests.collect(),
        workdir,
    }
}

fn run(arguments: &[&str]) -> Ran {
    run_in(Workdir::with_files("work"), arguments, "")
}

/// The check of a row in the table.
type Check = fn(&Ran) -> bool;

fn prints(ran: &Ran) -> bool {
    ran.ended.stdout == "ok\n"
}

fn prints_events(ran: &Ran) -> bool {
    ran.ended.stdout.lines().last() == Some("{\"type\":\"done\"}")
}

fn has_no_session(ran: &Ran) -> bool {
    prints(ran) && ran.session_files() == 0
}

fn has_no_built_in_tools(ran: &Ran) -> bool {
    let built_in = ["read", "write", "edit", "bash"];
    prints(ran)
        && !ran
            .tools()
            .iter()
            .any(|tool| built_in.contains(&tool.as_str()))
}

fn has_all_tools(ran: &Ran) -> bool {
    let tools = ran.tools();
    prints(ran)
        && ["read", "write", "edit", "bash"]
            .iter()
            .all(|tool| tools.iter().any(|t| t == tool))
}

fn has_read_and_bash_only(ran: &Ran) -> bool {
    let tools = ran.tools();
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    prints(ran) && has("read") && has("bash") && !has("write") && !has("edit")
}

fn has_no_skill_tool(ran: &Ran) -> bool {
    prints(ran) && !ran.tools().iter().any(|tool| tool == "skill")
}

fn has_usual_system_prompt(ran: &Ran) -> bool {
    prints(ran) && ran.system_prompt().len() > 200
}

/// Runs zot with each row's arguments; all of them are accepted.
fn check_table(table: &[(&[&str], Check)]) {
    for (arguments, check) in table {
        let ran = run(arguments);
        let Finished {
            code,
            stdout,
            stderr,
            ..
        } = &ran.ended;
        assert_eq!(*code, Some(0), "{arguments:?}: {stderr}");
        assert!(check(&ran), "{arguments:?}: {stdout} {stderr}");
    }
}

#[test]
fn the_last_mode_counts() {
    check_table(&[
        (&["-p", "hi"], prints),
        (&["--print", "hi"], prints),
        (&["--json", "hi"], prints_events),
        (&["-p", "--json", "hi"], prints_events),
        (&["--json", "-p", "hi"], prints),
        (&["--json", "hi", "-p"], prints),
        (&["-p", "--json", "--print", "hi"], prints),
        (&["--rpc", "-p", "hi"], prints),
        (&["--rpc", "--json", "hi"], prints_events),
    ]);
}

#[test]
fn the_last_of_a_repeated_flag_counts() {
    check_table(&[
        (&["-p", "-p", "hi"], prints),
        (
            &[
                "-p",
                "--jail",
                "--no-session",
                "--jail",
                "--no-session",
                "hi",
            ],
            has_no_session,
        ),
        (
            &["-p", "--reasoning", "low", "--reasoning", "high", "hi"],
            prints,
        ),
        (
            &["-p", "--max-steps", "1", "--max-steps", "9", "hi"],
            prints,
        ),
        (
            &["-p", "--model", "no-such-model", "--model", "gpt-4o", "hi"],
            prints,
        ),
        (
            &["-p", "--cwd", "/no/such/directory", "--cwd", ".", "hi"],
            prints,
        ),
        (
            &[
                "-p",
                "--system-prompt",
                "one",
                "--system-prompt",
                "two",
                "hi",
            ],
            |ran| {
                let system = ran.system_prompt();
                prints(ran) && system.contains("two") && !system.contains("one\\n")
            },
        ),
        (
            &[
                "-p",
                "--no-ext",
                "--no-ext",
                "--no-skill",
                "--no-skill",
                "hi",
            ],
            prints,
        ),
    ]);
}

#[test]
fn repeated_lists_add_up() {
    check_table(&[
        (
            &[
                "-p",
                "--append-system-prompt",
                "first-part",
                "--append-system-prompt",
                "second-part",
                "hi",
            ],
            |ran| {
                let system = ran.system_prompt();
                prints(ran) && system.contains("first-part") && system.contains("second-part")
            },
        ),
        (
            &["-p", "--tools", "read", "--tools", "bash", "hi"],
            has_read_and_bash_only,
        ),
        (
            &["-p", "--tools", "read, bash ,", "hi"],
            has_read_and_bash_only,
        ),
    ]);
}

#[test]
fn session_flags_have_an_order() {
    check_table(&[
        (&["-p", "-c", "--no-session", "hi"], has_no_session),
        (&["-p", "--no-session", "-c", "hi"], has_no_session),
        (&["-p", "-r", "--no-session", "hi"], has_no_session),
        (
            &["-p", "--no-session", "--session", "kept.jsonl", "hi"],
            |ran| has_no_session(ran) && ran.workdir.read("kept.jsonl").is_none(),
        ),
        (&["-p", "--session", "kept.jsonl", "-c", "hi"], |ran| {
            prints(ran) && ran.workdir.read("kept.jsonl").is_some()
        }),
        (&["-p", "-c", "--session", "kept.jsonl", "hi"], |ran| {
            prints(ran) && ran.workdir.read("kept.jsonl").is_some()
        }),
        (
            &["-p", "--session", "kept.jsonl", "-r", "--", "hi"],
            |ran| prints(ran) && ran.workdir.read("kept.jsonl").is_some(),
        ),
        (&["-p", "-c", "-r", "--", "hi"], prints),
        (&["-p", "-c", "hi"], |ran| {
            prints(ran) && ran.session_files() == 1
        }),
    ]);
}

#[test]
fn flags_that_remove_something_win() {
    check_table(&[
        (
            &["-p", "--no-tools", "--tools", "read", "hi"],
            has_no_built_in_tools,
        ),
        (
            &["-p", "--tools", "read", "--no-tools", "hi"],
            has_no_built_in_tools,
        ),
        (
            &["-p", "--no-skill", "--with-skills", "hi"],
            has_no_skill_tool,
        ),
        (
            &["-p", "--with-skill", "--no-skills", "hi"],
            has_no_skill_tool,
        ),
        (&["-p", "--with-skill", "hi"], prints),
        (&["-p", "--no-extensions", "hi"], prints),
        (&["-p", "-nc", "hi"], |ran| {
            prints(ran) && ran.prompts() == ["hi"]
        }),
    ]);
}

#[test]
fn values_may_be_in_any_case_or_empty() {
    check_table(&[
        (&["-p", "--reasoning", "HIGH", "hi"], prints),
        (&["-p", "--reasoning", "Medium", "hi"], prints),
        (&["-p", "--reasoning", "", "hi"], prints),
        (&["-p", "--tools", "", "hi"], has_all_tools),
        (&["-p", "--cwd", "", "hi"], prints),
        (&["-p", "--session", "", "hi"], |ran| {
            prints(ran) && ran.session_files() == 1
        }),
        (
            &["-p", "--system-prompt", "", "hi"],
            has_usual_system_prompt,
        ),
        (&["-p", "--append-system-prompt", "", "hi"], prints),
        (&["-p", "--ext", "", "hi"], prints),
        (&["-p", "--model", "", "hi"], prints),
    ]);
}

#[test]
fn texts_may_look_like_flags() {
    check_table(&[
        (&["-p", "--system-prompt", "- be terse", "hi"], |ran| {
            prints(ran) && ran.system_prompt().contains("- be terse")
        }),
        (
            &["-p", "--append-system-prompt", "-x-marks-it", "hi"],
            |ran| prints(ran) && ran.system_prompt().contains("-x-marks-it"),
        ),
    ]);
}

#[test]
fn words_around_flags_are_one_prompt() {
    check_table(&[
        (&["one", "-p", "two", "--no-session", "three"], |ran| {
            prints(ran) && ran.prompts() == ["one two three"]
        }),
        (&["-p", "--experimental-oauth", "hi"], |ran| {
            prints(ran)
                && ran.ended.stderr.lines().count() == 1
                && ran
                    .ended
                    .stderr
                    .contains("--experimental-oauth has no effect")
        }),
    ]);
}

#[test]
fn an_empty_provider_key_or_address_counts_as_missing() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let ended = ZotCommand::new(binary(), &workdir)
        .arguments(["-p", "--provider", "", "--model", "", "--api-key", ""])
        .env("OPENAI_API_KEY", "from-the-environment")
        .env("OPENAI_BASE_URL", "")
        .argument("--base-url")
        .argument(server.url(Wire::OpenAi))
        .arguments(["--provider", "openai", "hi"])
        .run("");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let request = server.requests().pop().expect("a request");
    assert!(
        request
            .headers
            .values()
            .any(|value| value.contains("from-the-environment"))
    );
    // Without an address the provider's own is used, and without a key the usual error.
    let ended = ZotCommand::new(binary(), &workdir)
        .arguments([
            "-p",
            "--provider",
            "",
            "--base-url",
            "",
            "--api-key",
            "",
            "hi",
        ])
        .run("");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("no provider has an API key"),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_version_has_a_short_flag_of_either_case() {
    for flag in ["-v", "-V", "--version"] {
        let ran = run(&[flag]);
        assert_eq!(ran.ended.code, Some(0));
        // An optimised build also names its commit and date.
        let expected = format!("zot {}", env!("CARGO_PKG_VERSION"));
        let shown = ran.ended.stdout.trim_end();
        let build = shown
            .strip_prefix(&expected)
            .unwrap_or_else(|| panic!("{flag}: {shown}"));
        let is_build = build.starts_with(" (") && build.ends_with(')');
        assert!(build.is_empty() || is_build, "{flag}: {shown}");
    }
}

#[test]
fn an_unusable_working_directory_is_reported() {
    for (directory, problem) in [
        ("/no/such/directory", "does not exist"),
        ("missing", "does not exist"),
        ("a-file", "is not a directory"),
        ("a-file/below", "cannot be used"),
    ] {
        for mode in [&["-p", "hi"][..], &["--json", "hi"], &["rpc"], &["context"]] {
            let workdir = Workdir::with_files("work");
            workdir.write("a-file", "");
            let arguments: Vec<&str> = mode
                .iter()
                .copied()
                .chain(["--provider", "offline", "--cwd", directory])
                .collect();
            let ended = ZotCommand::new(binary(), &workdir)
                .arguments(&arguments)
                .run("");
            assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
            assert_eq!(ended.stdout, "");
            for part in ["--cwd", directory, problem] {
                assert!(
                    ended.stderr.contains(part),
                    "{arguments:?}: {}",
                    ended.stderr
                );
            }
        }
    }
}

#[test]
fn mistakes_are_still_reported() {
    for arguments in [
        &["-p", "--bogus", "hi"][..],
        &["-p", "--reasoning", "hard", "hi"],
        &["-p", "--max-steps", "0", "hi"],
        &["-p", "--max-steps", "", "hi"],
        &["-p", "--provider"],
        &["-p", "--fork", "hi"],
        &["rpc", "--no-stdin"],
    ] {
        let ran = run(arguments);
        assert_eq!(
            ran.ended.code,
            Some(2),
            "{arguments:?}: {}",
            ran.ended.stderr
        );
        assert_eq!(ran.ended.stdout, "");
        assert!(ran.requests.is_empty());
    }
}
