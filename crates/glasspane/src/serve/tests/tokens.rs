use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::serve::{Token, TokenError};

#[test]
fn tokens_are_unique() {
    let one = Token::random().unwrap();
    let other = Token::random().unwrap();
    assert_eq!(one.as_str().len(), 64);
    assert!(one.matches(one.as_str()));
    assert!(!one.matches(other.as_str()));
    assert!(!format!("{one:?}").contains(one.as_str()));
}

#[test]
fn a_token_in_a_file_stays_and_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let made = Token::from_file(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(Token::from_file(&path).unwrap().matches(made.as_str()));

    fs::write(&path, "short").unwrap();
    assert!(matches!(
        Token::from_file(&path),
        Err(TokenError::Malformed(_))
    ));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(
        Token::from_file(&path),
        Err(TokenError::Readable(_))
    ));
    let nowhere = directory.path().join("no/such/directory");
    assert!(matches!(
        Token::from_file(&nowhere),
        Err(TokenError::File { .. })
    ));
}
