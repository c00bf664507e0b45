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
        exec: Some(ExecPermission::Only(vec!["git\n".to_owned()])),
        ..Permissions::default()
    };
    let expected = r#"read $CWD/notes, "~/a b"; write "/x\u{1b}[2K\r, nothing", "/tx\u{202e}t"; env "A, network"; exec "git\n""#;
    assert_eq!(summary(None, Some(&permissions)), expected);
}

#[test]
fn levels_and_hosts_are_named() {
    let none = Permissions::default();
    let hosts = Permissions {
        connect: vec!["api.example.com:443".to_owned()],
        unix_sockets: vec!["/run/x".to_owned()],
        env: vec!["KEY".to_owned()],
        exec: Some(ExecPermission::Anything(false)),
        ..Permissions::default()
    };
    for (sandbox, permissions, expected) in [
        (None, None, "full access"),
        (Some(Level::Off), None, "full access"),
        (Some(Level::Off), Some(&hosts), "full access; env KEY"),
        (None, Some(&none), "nothing beyond its own files"),
        (
            None,
            Some(&hosts),
            "env KEY; connect api.example.com:443; sockets /run/x",
        ),
        (Some(Level::ReadOnly), Some(&none), "sandbox read-only"),
        (
            Some(Level::Workspace),
            Some(&hosts),
            "sandbox workspace; env KEY; connect api.example.com:443; sockets /run/x; exec only its own",
        ),
    ] {
        assert_eq!(summary(sandbox, permissions), expected);
    }
}
