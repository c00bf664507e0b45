use super::{input, partial_arguments, pieces, rpc_line, sse_decoder};

#[test]
fn an_input_carries_its_cuts() {
    let data = input(&[2, 0, 3], b"abcdefg");
    let (content, cut) = pieces(&data);
    assert_eq!(content, b"abcdefg");
    assert_eq!(cut, [&b"ab"[..], b"", b"cde", b"fg"]);
    assert_eq!(pieces(&[9, 1]).0, b"");
    assert_eq!(pieces(&[]).0, b"");
}

#[test]
fn nothing_at_all_is_fine() {
    for check in [sse_decoder, rpc_line, partial_arguments] {
        check(b"");
        check(&[0]);
        check(&[255, 1, 2]);
    }
}
