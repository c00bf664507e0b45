use zot_sdk::{Budget, Image};
use zot_wire::rpc::RequestId;

use super::{Job, JobQueue, JobWork, MAX_QUEUED_COMMAND_BYTES, MAX_QUEUED_COMMANDS};

fn job(text: &str) -> Job {
    Job {
        id: None,
        work: JobWork::Prompt {
            text: text.to_owned(),
            images: Vec::new(),
            mentions: false,
            budget: Budget::default(),
        },
    }
}

#[test]
fn jobs_come_out_in_order() {
    let mut queue = JobQueue::default();
    for text in ["a", "b", "c"] {
        queue.push(job(text)).unwrap();
    }
    for text in ["a", "b", "c"] {
        assert_eq!(queue.pop(), Some(job(text)));
    }
    assert_eq!(queue.pop(), None);
}

#[test]
fn a_full_queue_refuses_until_a_job_is_popped() {
    let mut queue = JobQueue::default();
    for _ in 0..MAX_QUEUED_COMMANDS {
        queue.push(job("x")).unwrap();
    }
    assert_eq!(queue.push(job("late")), Err(Box::new(job("late"))));
    queue.pop();
    assert_eq!(queue.push(job("late")), Ok(()));

    let mut queue = JobQueue::default();
    let large = "x".repeat(MAX_QUEUED_COMMAND_BYTES);
    queue.push(job(&large)).unwrap();
    assert!(queue.push(job("y")).is_err());
    queue.pop();
    assert_eq!(queue.pop(), None);
    queue.push(job(&large)).unwrap();
}

#[test]
fn everything_of_variable_length_counts() {
    let id = RequestId::text(&"i".repeat(MAX_QUEUED_COMMAND_BYTES / 2));
    let work = JobWork::Compact;
    let mut queue = JobQueue::default();
    let long = || Job {
        id: id.clone(),
        work: JobWork::Compact,
    };
    queue.push(long()).unwrap();
    assert!(queue.push(long()).is_err());
    queue.push(Job { id: None, work }).unwrap();

    let image = Image {
        mime_type: "image/".repeat(MAX_QUEUED_COMMAND_BYTES / 6),
        data: Vec::new().into(),
    };
    let images = vec![image];
    let text = String::new();
    let budget = Budget::default();
    let work = JobWork::Prompt {
        text,
        images,
        mentions: false,
        budget,
    };
    let refused = JobQueue::default().push(Job { id: None, work });
    assert!(refused.is_err());
}
