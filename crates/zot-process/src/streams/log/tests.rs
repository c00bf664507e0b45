use super::*;

fn log_path(home: &Path, name: &str) -> PathBuf {
    home.join("logs").join(format!("ext-{name}.log"))
}

#[tokio::test]
async fn a_full_log_is_rotated_once() {
    let home = tempfile::tempdir().unwrap();
    let path = log_path(home.path(), "noisy");
    let mut log = ChildLog::new(path.clone(), 1000);
    for round in 0..50 {
        log.append(format!("line {round} {}\n", "x".repeat(90)).as_bytes());
    }
    log.append(&[b'y'; 5000]);
    let sizes: Vec<u64> = fs::read_dir(home.path().join("logs"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .collect();
    assert_eq!(sizes.len(), 2, "{sizes:?}");
    assert!(sizes.iter().all(|&size| size <= 1000), "{sizes:?}");
    assert!(fs::read(&path).unwrap().ends_with(b"yyy"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_remarks_is_counted() {
    let home = tempfile::tempdir().unwrap();
    let path = log_path(home.path(), "liar");
    let mut log = ChildLog::new(path.clone(), 1 << 20);
    for _ in 0..10_000 {
        log.remark("an answer to nothing");
    }
    tokio::time::advance(std::time::Duration::from_secs(600)).await;
    log.remark("the last");
    let text = fs::read_to_string(path).unwrap();
    assert!(text.lines().count() < 30, "{text}");
    assert!(text.contains("9980 more remarks left out"), "{text}");
    assert!(text.ends_with("the last\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn notes_are_logged_during_a_flood_of_remarks() {
    let home = tempfile::tempdir().unwrap();
    let path = log_path(home.path(), "liar");
    let mut log = ChildLog::new(path.clone(), 1 << 20);
    for _ in 0..10_000 {
        log.remark("an answer to nothing");
    }
    log.note("it is ended");
    tokio::time::advance(std::time::Duration::from_millis(100)).await;
    log.remark("it is back");
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("it is ended\n"), "{text}");
    assert!(text.ends_with("it is back\n"), "{text}");
}

#[tokio::test]
async fn a_remark_is_one_short_line() {
    let home = tempfile::tempdir().unwrap();
    let path = log_path(home.path(), "liar");
    let mut log = ChildLog::new(path.clone(), 1 << 20);
    log.remark(&format!(
        "\u{1b}[2J\n[zot] all is well {}",
        "ü".repeat(1 << 20)
    ));
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.len() < 2 * MAX_REMARK_BYTES, "{} bytes", text.len());
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_ignored() {
    let mut log = ChildLog::new(PathBuf::from("/proc/no/such/file"), 1000);
    log.append(b"text");
    log.remark("remark");
}

#[tokio::test]
async fn only_regular_files_are_written_to() {
    let home = tempfile::tempdir().unwrap();
    let path = log_path(home.path(), "x");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let victim = home.path().join("victim");
    fs::write(&victim, "kept").unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    ChildLog::new(path.clone(), 1000).append(b"text");
    assert_eq!(fs::read(&victim).unwrap(), b"kept");

    fs::remove_file(&path).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(fifo.unwrap().success());
    // Must neither wait for a reader nor write to this one.
    ChildLog::new(path.clone(), 1000).append(b"text");
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&path);
    let mut reader = reader.unwrap();
    ChildLog::new(path, 1000).append(b"text");
    let mut text = Vec::new();
    io::Read::read_to_end(&mut reader, &mut text).unwrap();
    assert_eq!(text, b"");
}

#[tokio::test]
async fn two_writers_rotate_a_log_once() {
    let home = tempfile::tempdir().unwrap();
    let path = log_path(home.path(), "x");
    let mut one = ChildLog::new(path.clone(), 100);
    one.append(&[b'1'; 60]);
    let mut other = ChildLog::new(path.clone(), 100);
    other.append(b"o");
    one.append(&[b'2'; 60]);
    // Its log has become the older one, which must not replace the newer one.
    other.append(&[b'3'; 39]);
    other.append(&[b'4'; 30]);
    let older = fs::read_to_string(path.with_extension("log.1")).unwrap();
    assert!(older.starts_with('1'), "{older}");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with('2') && text.ends_with('4'), "{text}");
}
