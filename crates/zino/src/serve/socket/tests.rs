use super::*;

#[tokio::test]
#[cfg(target_os = "linux")]
async fn there_is_no_moment_for_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sock");
    // The mask only takes away: a mode that others have no part in before it has none after it.
    let _listener = listen(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode & !SOCKET_MODE, 0, "{mode:o}");
    let socket = Socket::bind(&directory.path().join("b.sock")).unwrap();
    let mode = fs::metadata(socket.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, SOCKET_MODE, "{mode:o}");
}
