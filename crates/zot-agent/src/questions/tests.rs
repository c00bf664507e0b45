use zot_conversation::{Answer, QuestionId};

use super::{MAX_TOOL_QUESTIONS, NotAsked, OpenQuestions};

#[test]
fn nobody_is_asked_until_someone_answers() {
    let questions = OpenQuestions::default();
    assert!(questions.ask().is_none());
    questions.open();
    let mut waiting = questions.ask().expect("someone answers");
    questions
        .answer(&waiting.id.clone(), Answer::Cancel)
        .unwrap();
    assert_eq!(waiting.receiver.try_recv(), Ok(Answer::Cancel));
    let again = questions.answer(&waiting.id.clone(), Answer::Decline);
    assert_eq!(again, Err(NotAsked), "a question is answered once");
    questions.close();
    assert!(questions.ask().is_none());
}

#[test]
fn closing_declines_what_waits() {
    let questions = OpenQuestions::default();
    questions.open();
    let mut waiting = questions.ask().expect("someone answers");
    questions.close();
    assert_eq!(waiting.receiver.try_recv(), Ok(Answer::Decline));
}

#[test]
fn a_dropped_question_is_forgotten() {
    let questions = OpenQuestions::default();
    questions.open();
    let waiting: Vec<_> = std::iter::from_fn(|| questions.ask()).collect();
    assert_eq!(waiting.len(), MAX_TOOL_QUESTIONS);
    drop(waiting);
    assert_eq!(
        questions.answer(&QuestionId::from("question_1"), Answer::Decline),
        Err(NotAsked)
    );
    assert!(questions.ask().is_some());
}
