use super::*;

fn shown(preview: &Preview) -> (&str, &str) {
    let body = match &preview.body {
        PreviewBody::Code { text, .. } | PreviewBody::Prose(text) => text,
        _ => "",
    };
    (&preview.facts[0], body)
}

#[test]
fn text_is_shown_and_other_files_are_described() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(root.path().join(name), bytes).unwrap();
    write("a.rs", b"fn main() {}\n");
    write("empty", b"");
    write("image.png", b"\x89PNG\r\n\x1a\n\0\0");
    write("latin.txt", b"gr\xfcn");
    fs::create_dir_all(root.path().join("directory/deeper")).unwrap();
    write("directory/b.txt", b"b");
    let preview = |name: &str| preview(root.path(), name);
    assert_eq!(shown(&preview("a.rs")), ("13 bytes", "fn main() {}\n"));
    assert_eq!(
        preview("a.rs").body,
        PreviewBody::Code {
            language: "rs".to_owned(),
            text: "fn main() {}\n".to_owned()
        }
    );
    assert_eq!(shown(&preview("empty")), ("empty", ""));
    assert_eq!(shown(&preview("image.png")), ("binary · 10 bytes", ""));
    assert_eq!(shown(&preview("latin.txt")), ("binary · 4 bytes", ""));
    assert_eq!(
        shown(&preview("directory/")),
        ("a directory", "b.txt\ndeeper/")
    );
    let gone = preview("gone");
    assert!(gone.facts[0].starts_with("cannot be read"), "{gone:?}");
}

#[test]
fn only_the_beginning_of_a_long_file_is_read() {
    let root = tempfile::tempdir().unwrap();
    // Two bytes each, so that one character is split.
    let text = format!("x{}", "ü".repeat(1_000_000));
    fs::write(root.path().join("long"), &text).unwrap();
    let preview = preview(root.path(), "long");
    let (fact, body) = shown(&preview);
    assert_eq!(fact, "2.0 MB");
    assert_eq!(body.len() as u64, MAX_FILE_PREVIEW_BYTES - 1);
}

/// Reading these would block.
#[test]
fn pipes_sockets_and_devices_are_not_read() {
    let root = tempfile::tempdir().unwrap();
    let pipe = root.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", root.path().join("zero")).unwrap();
    std::os::unix::fs::symlink(&pipe, root.path().join("link")).unwrap();
    for (name, kind) in [
        ("pipe", "named pipe, not read"),
        ("link", "named pipe, not read"),
        ("socket", "socket, not read"),
        ("zero", "device, not read"),
    ] {
        assert_eq!(shown(&preview(root.path(), name)), (kind, ""), "{name}");
    }
}
