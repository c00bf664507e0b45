use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::Lock;

#[test]
fn only_one_holds_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap().unwrap();
    assert!(Lock::try_acquire(&path).unwrap().is_none());
    assert!(Lock::acquire(&path, Duration::from_millis(30)).is_err());
    drop(first);
    assert!(Lock::try_acquire(&path).unwrap().is_some());
}

#[test]
fn who_waits_gets_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap().unwrap();
    let released = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _second = Lock::acquire(&path, Duration::from_secs(30)).unwrap();
            assert!(released.load(Ordering::SeqCst));
        });
        released.store(true, Ordering::SeqCst);
        drop(first);
    });
}

#[test]
fn a_directory_is_locked_and_stays_empty() {
    let directory = tempfile::tempdir().unwrap();
    let acquire = || Lock::acquire_directory(directory.path(), Duration::from_millis(20));
    let lock = acquire().unwrap();
    assert!(lock.is_some());
    assert_eq!(acquire().unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    drop(lock);
    assert!(acquire().unwrap().is_some());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
