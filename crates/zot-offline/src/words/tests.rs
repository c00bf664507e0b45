use super::words;

fn texts(prompt: &str) -> Vec<&str> {
    words(prompt).iter().map(|word| word.text).collect()
}

#[test]
fn punctuation_is_not_part_of_a_word_but_of_a_path() {
    assert_eq!(
        texts("Read src/lib.rs, then (README.md)... ok?!"),
        ["Read", "src/lib.rs", "then", "README.md", "ok"]
    );
    assert_eq!(texts("list . and src/.. !"), ["list", ".", "and", "src/.."]);
}

#[test]
fn quotes_keep_words_together() {
    assert_eq!(
        texts(r#"write "two words" to 'a b.txt', run `ls -l | wc`."#),
        ["write", "two words", "to", "a b.txt", "run", "ls -l | wc"]
    );
    assert_eq!(
        texts("don't read what's 'open"),
        ["don't", "read", "what's", "'open"]
    );
    assert_eq!(texts(r#"echo 'it's fine'"#), ["echo", "it's fine"]);
    assert_eq!(texts(r#"write "" to x"#), ["write", "", "to", "x"]);
}

#[test]
fn positions_lead_back_to_the_prompt() {
    let prompt = "größer (als) \"ä b\"; Ende.\nneu";
    let words = words(prompt);
    let slices: Vec<&str> = words
        .iter()
        .map(|word| &prompt[word.start..word.end])
        .collect();
    assert_eq!(slices, ["größer", "(als", "\"ä b\"", "Ende", "neu"]);
    let after: Vec<Option<char>> = words.iter().map(|word| word.after).collect();
    assert_eq!(after, [None, Some(')'), Some(';'), Some('.'), None]);
}

#[test]
fn line_ends_are_seen() {
    assert_eq!(words("one\ntwo").first().unwrap().after, Some('\n'));
    assert!(words(" \n ").is_empty());
}
