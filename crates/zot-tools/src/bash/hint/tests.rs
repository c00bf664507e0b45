use super::*;

/// Ended with this wait status of the kernel.
fn ended(status: i32, seconds: u64) -> Ended {
    Ended {
        status: Some(ExitStatus::from_raw(status)),
        elapsed: Duration::from_secs(seconds),
    }
}

const FAILED: i32 = 1 << 8;

#[test]
fn limits_are_named_only_if_they_are_set() {
    let all = Limits {
        memory_bytes: Some(64 * MIB),
        processes: Some(5),
        processor_seconds: Some(2),
        open_files: Some(20),
    };
    for (output, status, seconds, expected) in [
        ("", OUT_OF_TIME, 1, "--sandbox-processor-seconds"),
        ("", KILLED, 2, "--sandbox-processor-seconds"),
        ("", (SIGNAL_CODE + KILLED) << 8, 3, "2 s of processor time"),
        (
            "make: *** [all] Killed",
            FAILED,
            3,
            "--sandbox-processor-seconds",
        ),
        (
            "MemoryError",
            FAILED,
            0,
            "64 MiB of memory for each process",
        ),
        (
            "fork: Cannot allocate memory",
            FAILED,
            0,
            "--sandbox-memory-mib",
        ),
        (
            "sh: 1: Cannot fork",
            FAILED,
            0,
            "limit of 5 processes; only",
        ),
        (
            "fork: Resource temporarily unavailable",
            FAILED,
            0,
            "--sandbox-processes",
        ),
        (
            "cat: x: Too many open files",
            FAILED,
            0,
            "--sandbox-open-files",
        ),
    ] {
        let said = reached_limits(&all, output, &ended(status, seconds));
        assert_eq!(said.len(), 1, "{output}: {said:?}");
        assert!(said[0].contains(expected), "{said:?}");
        assert_eq!(
            reached_limits(&Limits::default(), output, &ended(status, seconds)),
            [""; 0]
        );
        assert_eq!(reached_limits(&all, output, &ended(0, seconds)), [""; 0]);
    }
    // Somebody else may have killed it.
    assert_eq!(reached_limits(&all, "Killed", &ended(KILLED, 1)), [""; 0]);
}

#[test]
fn a_server_of_the_machine_is_missed() {
    for (output, host) in [
        (
            "curl: (7) Failed to connect to 127.0.0.1 port 8080 after 0 ms: Couldn't connect to server",
            "127.0.0.1",
        ),
        (
            "psql: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
            "localhost",
        ),
        ("Error: connect ECONNREFUSED ::1:3000", "[::1]"),
    ] {
        assert_eq!(missed_local_host(output), Some(host), "{output}");
    }
    for output in [
        "curl: (7) Failed to connect to example.com port 80",
        "listening on localhost\nlater: connection refused by example.com",
    ] {
        assert_eq!(missed_local_host(output), None, "{output}");
    }
}

#[test]
fn sockets_are_found_in_the_words_of_common_programs() {
    for output in [
        "permission denied while trying to connect to the Docker daemon socket at unix:///run/x.sock: Get",
        "Cannot connect to the Docker daemon at unix:///run/x.sock. Is the docker daemon running?",
        "connection to server on socket \"/run/x.sock\" failed: Operation not permitted",
    ] {
        let mut words = possible_sockets(output);
        assert!(words.any(|word| word == "/run/x.sock"), "{output}");
    }
    assert_eq!(possible_sockets("made /run/x.sock").count(), 0);
    let named: Vec<&str> = named_sockets("at unix:///run/x.sock. and /run/y.sock").collect();
    assert_eq!(named, ["/run/x.sock"]);
}
