use super::*;

#[tokio::test]
#[cfg(target_os = "linux")]
async fn other_users_never_have_access() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    // A umask only removes permissions, so the mode before it is the widest others could see.
    let _listener = listen(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode & !SOCKET_MODE, 0, "{mode:o}");
    let socket = Socket::bind(&directory.path().join("b.sock")).unwrap();
    let mode = fs::metadata(socket.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, SOCKET_MODE, "{mode:o}");
}
