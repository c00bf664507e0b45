use super::*;

#[tokio::test]
async fn a_full_log_is_rotated_once() {
    let home = tempfile::tempdir().unwrap();
    let path = log_path(home.path(), "noisy");
    let mut log = ExtensionLog::new(path.clone(), 1000);
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
    let mut log = ExtensionLog::new(path.clone(), 1 << 20);
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

#[tokio::test]
async fn a_log_that_cannot_be_written_hurts_nobody() {
    let mut log = ExtensionLog::new(PathBuf::from("/proc/no/such/file"), 1000);
    log.append(b"text");
    log.remark("remark");
}
