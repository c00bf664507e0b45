use super::{MAX_RESULT_BYTES, MAX_RESULT_LINES, clip};

#[test]
fn keeps_what_fits_and_says_what_was_cut() {
    assert_eq!(clip("a\nb".to_owned()), "a\nb");

    let exact = "x\n".repeat(MAX_RESULT_LINES);
    assert_eq!(clip(exact.clone()), exact);
    assert_eq!(
        clip(format!("{exact}y")),
        format!("{exact}... [truncated at 2000 lines]\n")
    );

    let wide = "é".repeat(MAX_RESULT_BYTES);
    let clipped = clip(wide);
    assert!(clipped.ends_with("é\n... [truncated at 50 KiB]\n"));
    assert!(clipped.len() < MAX_RESULT_BYTES + 40);
}
