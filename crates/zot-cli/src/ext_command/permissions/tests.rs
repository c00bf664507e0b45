use super::*;

#[test]
fn requested_permissions_cannot_be_disguised() {
    let permissions = Permissions {
        fs_read: vec!["$CWD/notes".to_owned(), "~/a b".to_owned()],
        fs_write: vec![
            "/x\u{1b}[2K\r, nothing".to_owned(),
            "/tx\u{202e}t".to_owned(),
        ],
        env: vec!["A, network".to_owned()],
        exec: ExecPermission::Only(vec!["git\n".to_owned()]),
        ..Permissions::default()
    };
    let expected = r#"read $CWD/notes, "~/a b"; write "/x\u{1b}[2K\r, nothing", "/tx\u{202e}t"; env "A, network"; exec "git\n""#;
    assert_eq!(summary(Some(&permissions)), expected);
    for line in details(Some(&permissions)) {
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}
