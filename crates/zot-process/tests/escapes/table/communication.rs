//! What processes of a user share without files.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const COMMUNICATION: Category = Category {
    name: "communication",
    source: include_str!("../attempts/communication.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("read_segment").weaker_alone("System V memory, queues and semaphores"),
    attempt("write_segment").weaker_alone("System V memory, queues and semaphores"),
    attempt("find_segment").weaker_alone("System V memory, queues and semaphores"),
    attempt("describe_segment").weaker_alone("System V memory, queues and semaphores"),
    attempt("change_segment").weaker_alone("System V memory, queues and semaphores"),
    attempt("read_queue").weaker_alone("System V memory, queues and semaphores"),
    attempt("write_queue").weaker_alone("System V memory, queues and semaphores"),
    attempt("change_semaphore").weaker_alone("System V memory, queues and semaphores"),
    attempt("set_semaphore").weaker_alone("System V memory, queues and semaphores"),
    attempt("list_objects").weaker_alone("System V memory, queues and semaphores"),
    attempt("read_posix_queue"),
    attempt("write_posix_queue"),
    attempt("remove_posix_queue"),
    attempt("read_shared_memory"),
    attempt("write_shared_memory"),
    attempt("list_shared_memory"),
    attempt("leave_in_shared_memory"),
    attempt("lock_file_outside"),
];
