use serde_json::value::to_raw_value;

use super::*;

#[track_caller]
fn check(usage: &str, input: u64, output: u64, cache_read: u64, cache_write: u64) {
    let raw = to_raw_value(&serde_json::from_str::<Value>(usage).unwrap()).unwrap();
    let expected = Usage {
        input,
        output,
        cache_read,
        cache_write,
        ..Usage::default()
    };
    assert_eq!(read(&raw), Some(expected), "{usage}");
}

#[test]
fn names_of_both_wires_and_of_compatible_servers() {
    check(
        r#"{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,
            "prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30,"audio_tokens":0}}"#,
        10,
        7,
        60,
        30,
    );
    check(
        r#"{"input_tokens":100,"output_tokens":7,"total_tokens":107,
            "input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},
            "output_tokens_details":{"reasoning_tokens":5}}"#,
        10,
        7,
        60,
        30,
    );
    check(
        r#"{"prompt_tokens":100,"completion_tokens":7,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}"#,
        36,
        7,
        64,
        0,
    );
    check(
        r#"{"prompt_tokens":100,"completion_tokens":7,"cached_tokens":50}"#,
        50,
        7,
        50,
        0,
    );
    check(
        r#"{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":null,
            "cache_read_input_tokens":20,"cache_creation_input_tokens":70}"#,
        10,
        7,
        20,
        70,
    );
}

#[test]
fn reasoning_that_the_completion_leaves_out_is_added() {
    let usage = |completion: u64| {
        format!(
            r#"{{"prompt_tokens":10,"completion_tokens":{completion},"total_tokens":37,
                "completion_tokens_details":{{"reasoning_tokens":20}}}}"#
        )
    };
    check(&usage(7), 10, 27, 0, 0);
    check(&usage(27), 10, 27, 0, 0);
}

#[test]
fn odd_numbers() {
    check(
        r#"{"prompt_tokens":"12","completion_tokens":3.0,"prompt_tokens_details":{"cached_tokens":"20"}}"#,
        0,
        3,
        12,
        0,
    );
    check(
        r#"{"prompt_tokens":5,"completion_tokens":null,"prompt_tokens_details":{"cache_write_tokens":9}}"#,
        0,
        0,
        0,
        5,
    );
    for nothing in ["{}", "null", "[]", "7", r#"{"prompt_tokens":null}"#] {
        let raw = to_raw_value(&serde_json::from_str::<Value>(nothing).unwrap()).unwrap();
        assert_eq!(read(&raw), None, "{nothing}");
    }
}
