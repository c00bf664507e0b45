use zot_conversation::{Arguments, ErrorCode, ErrorReport, ToolCall};

use super::{
    CompactionCause, CompactionOutcome, ContextFill, Ending, ModelOutcome, NextStep, ToolsOutcome,
    Turn,
};

fn report(message: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::Unavailable, message)
}

fn responded(calls: usize, context: ContextFill) -> ModelOutcome {
    let call = |index: usize| ToolCall {
        id: format!("call_{index}").into(),
        name: "read".to_owned(),
        arguments: Arguments::empty(),
    };
    ModelOutcome::Responded {
        calls: (0..calls).map(call).collect(),
        context,
    }
}

fn overflowed() -> ModelOutcome {
    ModelOutcome::Overflowed(ErrorReport::new(ErrorCode::ContextOverflow, "too long"))
}

#[test]
fn a_response_without_calls_ends_the_prompt() {
    let mut turn = Turn::new(Some(10), ContextFill::Roomy);
    assert_eq!(turn.next_step(), NextStep::CallModel { step: 1 });
    turn.model_called(responded(0, ContextFill::Roomy));
    assert_eq!(turn.next_step(), NextStep::Finish(Ending::Complete));
}

#[test]
fn steps_count_up_to_the_limit() {
    let mut turn = Turn::new(Some(2), ContextFill::Roomy);
    for step in 1..=2 {
        assert_eq!(turn.next_step(), NextStep::CallModel { step });
        turn.model_called(responded(1, ContextFill::Roomy));
        assert!(matches!(turn.next_step(), NextStep::RunTools(calls) if calls.len() == 1));
        turn.tools_ran(ToolsOutcome::Finished);
    }
    assert_eq!(
        turn.next_step(),
        NextStep::Finish(Ending::Failed(ErrorReport::new(
            ErrorCode::MaxSteps,
            "max steps (2) exceeded"
        )))
    );
}

#[test]
fn a_limit_that_is_raised_is_counted_on() {
    let mut turn = Turn::new(Some(1), ContextFill::Roomy);
    let step = |turn: &mut Turn, number: u32| {
        assert!(!turn.is_at_step_limit());
        assert_eq!(turn.next_step(), NextStep::CallModel { step: number });
        turn.model_called(responded(1, ContextFill::Roomy));
        turn.tools_ran(ToolsOutcome::Finished);
    };
    step(&mut turn, 1);
    assert!(turn.is_at_step_limit());
    turn.allow_steps(2);
    step(&mut turn, 2);
    step(&mut turn, 3);
    assert!(turn.is_at_step_limit());
    turn.allow_steps(u64::MAX);
    step(&mut turn, 4);
    turn.model_called(responded(0, ContextFill::Roomy));
    assert!(!turn.is_at_step_limit());
}

#[test]
fn aborts_end_quietly_and_failures_are_reported() {
    let mut turn = Turn::new(Some(2), ContextFill::Roomy);
    turn.model_called(responded(1, ContextFill::Roomy));
    turn.tools_ran(ToolsOutcome::Aborted);
    assert_eq!(turn.next_step(), NextStep::Finish(Ending::Quiet));

    let mut turn = Turn::new(Some(2), ContextFill::Roomy);
    turn.model_called(ModelOutcome::Failed(report("down")));
    assert_eq!(
        turn.next_step(),
        NextStep::Finish(Ending::Failed(report("down")))
    );
}

#[test]
fn a_nearly_full_window_is_compacted_before_the_next_call_and_failing_that_is_no_end() {
    let nearly_full = NextStep::Compact(CompactionCause::NearlyFull);
    let mut turn = Turn::new(Some(9), ContextFill::NearlyFull);
    assert_eq!(turn.next_step(), nearly_full);
    turn.compacted(
        CompactionCause::NearlyFull,
        CompactionOutcome::Failed(report("x")),
    );
    assert_eq!(turn.next_step(), NextStep::CallModel { step: 1 });
    turn.model_called(responded(1, ContextFill::NearlyFull));
    turn.tools_ran(ToolsOutcome::Finished);
    assert_eq!(turn.next_step(), NextStep::CallModel { step: 2 });

    let mut turn = Turn::new(Some(9), ContextFill::Roomy);
    turn.model_called(responded(1, ContextFill::NearlyFull));
    turn.tools_ran(ToolsOutcome::Finished);
    assert_eq!(turn.next_step(), nearly_full);
    turn.compacted(CompactionCause::NearlyFull, CompactionOutcome::Shortened);
    assert_eq!(turn.next_step(), NextStep::CallModel { step: 2 });
}

#[test]
fn an_overflow_is_compacted_once_and_then_final() {
    let mut turn = Turn::new(Some(9), ContextFill::Roomy);
    turn.model_called(overflowed());
    assert_eq!(
        turn.next_step(),
        NextStep::Compact(CompactionCause::Overflow)
    );
    turn.compacted(CompactionCause::Overflow, CompactionOutcome::Shortened);
    assert_eq!(turn.next_step(), NextStep::RetryModel { step: 1 });
    turn.model_called(overflowed());
    let NextStep::Finish(Ending::FailedInTurn(report)) = turn.next_step() else {
        panic!("{:?}", turn.next_step());
    };
    assert_eq!(report.message, "too long");
    assert_eq!(report.code, ErrorCode::ContextOverflow);
}

#[test]
fn an_overflow_that_cannot_be_compacted_says_both_causes() {
    let mut turn = Turn::new(Some(9), ContextFill::Roomy);
    turn.model_called(overflowed());
    turn.compacted(
        CompactionCause::Overflow,
        CompactionOutcome::Failed(report("nothing to compact")),
    );
    let NextStep::Finish(Ending::FailedInTurn(report)) = turn.next_step() else {
        panic!("{:?}", turn.next_step());
    };
    assert_eq!(
        report.message,
        "too long (compaction did not help: nothing to compact)"
    );
}

#[test]
fn a_steered_prompt_goes_on_after_its_response() {
    let mut turn = Turn::new(Some(2), ContextFill::Roomy);
    turn.model_called(responded(0, ContextFill::Roomy));
    assert_eq!(turn.next_step(), NextStep::Finish(Ending::Complete));
    turn.steered();
    assert_eq!(turn.next_step(), NextStep::CallModel { step: 2 });
}

#[test]
fn without_a_limit_steps_go_on() {
    let mut turn = Turn::new(None, ContextFill::Roomy);
    for step in 1..=5_000 {
        assert!(
            matches!(turn.next_step(), NextStep::CallModel { .. }),
            "{step}"
        );
        turn.steered();
    }
}
