use super::{hermes_blocks, input, partial_arguments, pieces, rpc_line, sse_decoder};

#[test]
fn an_input_contains_its_split() {
    let data = input(&[2, 0, 3], b"abcdefg");
    let (content, cut) = pieces(&data);
    assert_eq!(content, b"abcdefg");
    assert_eq!(cut, [&b"ab"[..], b"", b"cde", b"fg"]);
    assert_eq!(pieces(&[9, 1]).0, b"");
    assert_eq!(pieces(&[]).0, b"");
}

#[test]
fn empty_input_is_accepted() {
    for check in [sse_decoder, rpc_line, partial_arguments, hermes_blocks] {
        check(b"");
        check(&[0]);
        check(&[255, 1, 2]);
    }
}
