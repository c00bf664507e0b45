use super::on_one_line;

#[test]
fn text_from_others_cannot_forge_a_line() {
    let text = "bash: In code.sh line 1:\n2026 INFO zino.exc: forged\r\x1b[2J ü";
    assert_eq!(
        on_one_line(text),
        "bash: In code.sh line 1:\\n2026 INFO zino.exc: forged??[2J ü"
    );
}
