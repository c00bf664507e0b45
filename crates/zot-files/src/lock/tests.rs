use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Lock, LockError};

#[test]
fn a_lock_has_one_holder() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap();
    assert!(matches!(Lock::try_acquire(&path), Err(LockError::Held)));
    let late = Lock::acquire_within(&path, Duration::from_millis(30)).unwrap_err();
    assert_eq!(
        std::io::Error::from(late).kind(),
        std::io::ErrorKind::TimedOut
    );
    drop(first);
    assert!(Lock::try_acquire(&path).is_ok());
}

#[test]
fn a_waiter_gets_the_released_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap();
    let released = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _second = Lock::acquire_within(&path, Duration::from_secs(30)).unwrap();
            assert!(released.load(Ordering::SeqCst));
        });
        released.store(true, Ordering::SeqCst);
        drop(first);
    });
}

#[test]
fn locking_a_directory_creates_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let acquire = || Lock::acquire_directory_within(directory.path(), Duration::from_millis(20));
    let lock = acquire().unwrap();
    assert!(lock.is_some());
    assert!(matches!(acquire(), Err(LockError::Held)));
    drop(lock);
    assert!(acquire().unwrap().is_some());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_named_pipe_in_place_of_a_directory_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    assert!(Lock::acquire_directory(&fifo).unwrap().is_none());
}
