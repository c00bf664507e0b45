use super::normalise::{Masks, normalise};
use super::{Fixtures, Pace, first_difference};
use crate::Workdir;

fn check(pace: Pace, run: &[&str], expected: &[&str]) {
    let workdir = Workdir::new("w");
    let cwd = workdir.path().display().to_string();
    let run: Vec<String> = run.iter().map(|line| line.replace("CWD", &cwd)).collect();
    let normal = normalise(&run, pace, &Masks::of(&workdir));
    assert_eq!(normal, expected);
    let again = normalise(&normal, pace, &Masks::of(&workdir));
    assert_eq!(again, normal, "normalising twice changes nothing");
}

#[test]
fn variable_parts_are_masked() {
    check(
        Pace::Steady,
        &[
            r#"< {"type":"x","time":"2026-01-02T03:04:05Z","text":"in CWD Took 0.12s 127.0.0.1:80"}"#,
            r#"< {"type":"usage","cost_usd":0.0005149999999999999,"cumulative":{"cost_usd":0}}"#,
            r#"< {"type":"response","success":false,"error":"json: cannot unmarshal"}"#,
            r#"< {"type":"error","message":"openai: http 401: no"}"#,
            r#"< {"type":"error","message":"max steps (2) exceeded"}"#,
            "# wait: eof",
            "# exit 0",
        ],
        &[
            r#"< {"text": "in <cwd>/w Took <dur> 127.0.0.1:<port>", "time": "<time>", "type": "x"}"#,
            r#"< {"cost_usd": 0.000515, "cumulative": {"cost_usd": 0}, "type": "usage"}"#,
            r#"< {"error": "<error>", "success": false, "type": "response"}"#,
            r#"< {"message": "openai: http 401: no", "type": "error"}"#,
            r#"< {"message": "<error>", "type": "error"}"#,
            "# exit 0",
        ],
    );
}

#[test]
fn an_empty_error_is_not_masked() {
    let silent = r#"< {"error": "", "success": false, "type": "response"}"#;
    check(Pace::Steady, &[silent, "# exit 0"], &[silent, "# exit 0"]);
}

#[test]
fn errors_of_tools_are_masked_but_not_output_of_commands() {
    check(
        Pace::Steady,
        &[
            r#"< {"content":[{"text":"stat x: no"}],"is_error":true,"type":"tool_result"}"#,
            r#"< {"content":[{"text":"$ false\n\n[exit 1]"}],"is_error":true,"type":"tool_result"}"#,
        ],
        &[
            r#"< {"content": [{"text": "<error>"}], "is_error": true, "type": "tool_result"}"#,
            r#"< {"content": [{"text": "$ false\n\n[exit 1]"}], "is_error": true, "type": "tool_result"}"#,
        ],
    );
}

#[test]
fn progress_is_joined_per_call_and_deltas_are_not() {
    check(
        Pace::Steady,
        &[
            r#"< {"id":"1","text":"a","type":"tool_progress"}"#,
            r#"< {"id":"1","text":"b","type":"tool_progress"}"#,
            r#"< {"id":"2","text":"c","type":"tool_progress"}"#,
            r#"< {"delta":"a","type":"text_delta"}"#,
            r#"< {"delta":"b","type":"text_delta"}"#,
        ],
        &[
            r#"< {"id": "1", "text": "ab", "type": "tool_progress"}"#,
            r#"< {"id": "2", "text": "c", "type": "tool_progress"}"#,
            r#"< {"delta": "a", "type": "text_delta"}"#,
            r#"< {"delta": "b", "type": "text_delta"}"#,
        ],
    );
}

#[test]
fn a_racy_run_keeps_the_order_of_its_events() {
    check(
        Pace::Racy,
        &[
            r#"> {"type":"prompt"}"#,
            r#"< {"command":"prompt","type":"response"}"#,
            r#"< {"delta":"a","type":"text_delta"}"#,
            r#"> {"type":"abort"}"#,
            r#"< {"command":"abort","type":"response"}"#,
            r#"< {"delta":"b","type":"text_delta"}"#,
            r#"< {"content":[1],"type":"assistant_message"}"#,
            r#"< {"type":"done"}"#,
            r#"< {"delta":"c","type":"text_delta"}"#,
        ],
        &[
            r#"> {"type": "prompt"}"#,
            r#"> {"type": "abort"}"#,
            r#"< {"command": "prompt", "type": "response"}"#,
            r#"< {"delta": "<some>", "type": "text_delta"}"#,
            r#"< {"content": "<partial>", "type": "assistant_message"}"#,
            r#"< {"type": "done"}"#,
            r#"< {"delta": "<some>", "type": "text_delta"}"#,
            r#"< {"command": "abort", "type": "response"}"#,
        ],
    );
}

#[test]
fn standard_error_matters_only_if_a_run_fails() {
    check(
        Pace::Steady,
        &["# stderr zot: a", "# stderr b", "# exit 1"],
        &["# stderr <text>", "# exit 1"],
    );
    let provider = "# stderr zot: openai: http 401: {}";
    check(
        Pace::Steady,
        &[provider, "# exit 1"],
        &[provider, "# exit 1"],
    );
    check(
        Pace::Steady,
        &["# stderr warning", "# exit 0"],
        &["# exit 0"],
    );
}

#[test]
fn session_files_are_compared_as_records() {
    check(
        Pace::Steady,
        &[
            "# file CWD/sessions/0123456789abcdef/20260102-030405-01234567.jsonl",
            r#"# | {"type":"meta","meta":{"id":"0-1","started":"now","version":"1.2.3"}}"#,
            "< zot 1.2.3-dev",
        ],
        &[
            "# file <cwd>/w/sessions/<cwdhash>/<session>.jsonl",
            r#"# | {"meta": {"id": "<uuid>", "started": "<time>", "version": "<version>"}, "type": "meta"}"#,
            "< zot <version>",
        ],
    );
}

#[test]
fn a_difference_is_found_on_either_side() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first_difference(&lines("a b"), &lines("a b")), None);
    for (expected, actual) in [("a b", "a c"), ("a b", "a"), ("a", "a b")] {
        assert!(first_difference(&lines(expected), &lines(actual)).is_some());
    }
}

#[test]
fn a_deviation_needs_a_reason_and_a_recording() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    write("good.jsonl", "# exit 0\n");
    write(
        "good.ours.jsonl",
        "# deviates: better, decision 3\n# exit 1\n",
    );
    let fixtures = Fixtures::new(directory.path());
    assert_eq!(fixtures.names(), ["good"]);
    assert!(fixtures.problems().is_empty());
    write("good.ours.jsonl", "# exit 1\n");
    assert_eq!(fixtures.problems().len(), 1);
    write("lonely.ours.jsonl", "# deviates: better\n");
    assert_eq!(fixtures.problems().len(), 2);
}
