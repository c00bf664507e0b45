use super::*;

fn message(role: &str, text: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"message\":{{\"role\":\"{role}\",\"content\":[{{\"text\":\"{text}\"}}],\"time\":\"2026-05-11T09:12:34Z\"}}}}\n"
    )
}

/// However little of the end is read, the result is a part of the last prompts.
#[test]
fn the_last_prompts_are_found_in_any_part_of_the_end() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut text = String::new();
    for number in 0..9 {
        text.push_str(&message("user", &format!("prompt {number}")));
        text.push_str(&message("assistant", "answer"));
    }
    // Killed while it was written.
    text.push_str(&message("user", "half")[..40]);
    std::fs::write(file.path(), &text).unwrap();
    let all: Vec<String> = (0..9).map(|number| format!("prompt {number}")).collect();
    for within in 0..text.len() + 2 {
        let found = last_prompts(file.path(), within as u64, 3).unwrap();
        assert!(
            found.len() <= 3 && all.ends_with(&found),
            "{within}: {found:?}"
        );
    }
    assert_eq!(last_prompts(file.path(), 1 << 20, 3).unwrap(), all[6..]);
    assert_eq!(last_prompts(file.path(), 1 << 20, 100).unwrap(), all);
}

#[test]
fn what_was_cleared_was_said_and_what_was_imported_as_well() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let message = |text: &str| {
        format!(
            r#"{{"role":"user","content":[{{"text":"{text}"}}],"time":"2026-05-11T09:12:34Z"}}"#
        )
    };
    let replaced =
        |messages: &str| format!("{{\"type\":\"replaced\",\"messages\":[{messages}]}}\n");
    let text = [replaced(&message("imported")), replaced("")].concat();
    std::fs::write(file.path(), text).unwrap();
    assert_eq!(last_prompts(file.path(), 1 << 20, 3).unwrap(), ["imported"]);
}
