use tokio::io::AsyncReadExt as _;

use super::*;

fn connected() -> (Outbox, pipe::Receiver) {
    let (sender, receiver) = pipe::pipe().unwrap();
    let outbox = Outbox::default();
    outbox.open(sender);
    (outbox, receiver)
}

#[tokio::test]
async fn lines_arrive_whole_and_in_order() {
    let (outbox, mut receiver) = connected();
    let mut expected = Vec::new();
    for number in 0..2000_u32 {
        let line = format!("{number} {}\n", "x".repeat(number as usize % 300));
        expected.extend_from_slice(line.as_bytes());
        outbox.send(line.as_bytes()).unwrap();
    }
    let mut received = vec![0; expected.len()];
    tokio::select! {
        end = outbox.drive() => panic!("{end:?}"),
        result = receiver.read_exact(&mut received) => { result.unwrap(); }
    }
    assert!(received == expected);
}

#[tokio::test]
async fn a_reader_that_never_reads_costs_a_megabyte() {
    let (outbox, _receiver) = connected();
    let line = [b'x'; 1000];
    let mut taken = 0;
    while outbox.send(&line).is_ok() {
        taken += line.len();
        assert!(taken < 4 * MAX_OUTBOX_BYTES);
    }
    assert_eq!(outbox.send(&line), Err(OutboxSendError::Full));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_reads_is_detected() {
    let (outbox, _receiver) = connected();
    while outbox.send(&[b'x'; 1000]).is_ok() {}
    assert!(matches!(outbox.drive().await, OutboxEnd::Stalled));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_reads_is_detected_even_if_it_writes() {
    let (outbox, _receiver) = connected();
    while outbox.send(&[b'x'; 1000]).is_ok() {}
    let started = Instant::now();
    // Its output interrupts the writing.
    while tokio::time::timeout(CHILD_STALL_TIME / 7, outbox.drive())
        .await
        .is_err()
    {
        assert!(started.elapsed() < 2 * CHILD_STALL_TIME);
    }
}

#[tokio::test]
async fn a_closed_input_is_reported_and_a_closed_outbox_refuses_lines() {
    let (outbox, receiver) = connected();
    drop(receiver);
    outbox.send(b"line\n").unwrap();
    assert!(matches!(outbox.drive().await, OutboxEnd::Closed(_)));
    outbox.close();
    assert_eq!(outbox.send(b"line\n"), Err(OutboxSendError::NotRunning));
}

#[tokio::test]
async fn one_frame_may_be_longer_than_the_backlog() {
    let (outbox, mut receiver) = connected();
    let line = vec![b'x'; 3 * MAX_OUTBOX_BYTES];
    outbox.send(&line).unwrap();
    let mut received = vec![0; line.len()];
    tokio::select! {
        end = outbox.drive() => panic!("{end:?}"),
        result = receiver.read_exact(&mut received) => { result.unwrap(); }
    }
    outbox.flushed().await;
}
