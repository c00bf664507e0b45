use super::on_one_line;

#[test]
fn what_others_say_begins_no_line() {
    let said = "bash: In code.sh line 1:\n2026 INFO zino.exc: forged\r\x1b[2J ü";
    assert_eq!(
        on_one_line(said),
        "bash: In code.sh line 1:\\n2026 INFO zino.exc: forged??[2J ü"
    );
}
