use super::parse_ignored;

#[test]
fn the_mask_of_ignored_signals_is_parsed() {
    let status = "Name:\tzot\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
    assert_eq!(parse_ignored(status), Some(0x1001));
    assert_eq!(parse_ignored("Name:\tzot\n"), None);
}
