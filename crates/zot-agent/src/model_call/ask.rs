//! A request outside the transcript, for a summary of it.

use std::pin::pin;
use std::sync::Arc;

use zot_conversation::{
    Message, ModelError, ModelErrorKind, ModelRequest, ResponseSize, Sampling, StopReason, Usage,
    joined_text,
};

use super::receive::next;
use super::without_end_marker;
use crate::driver::Run;
use crate::{AgentSettings, ResponseBuilder};

/// Sends one request outside the transcript and without events; `None` when the prompt was aborted.
pub(crate) async fn ask(
    settings: &AgentSettings,
    run: &Run<'_>,
    system: &str,
    messages: &[Arc<Message>],
) -> Option<Result<(String, Usage), (ModelError, Usage)>> {
    let mut stream = settings.model.client.stream(ModelRequest {
        model: &settings.model.id,
        system,
        messages,
        tools: &[],
        reasoning: None,
        max_output: settings.model.max_output,
        sampling: Sampling::default(),
    });
    let mut cancelled = pin!(run.cancel.cancelled());
    let mut builder = ResponseBuilder::default();
    let mut size = ResponseSize::default();
    let failure = loop {
        tokio::select! {
            biased;
            () = &mut cancelled => return None,
            event = next(&mut stream) => match event {
                Some(Ok(event)) => match size.add(&event) {
                    Ok(()) => builder.apply(&event),
                    Err(limit) => break Some(limit.into()),
                },
                Some(Err(error)) => break Some(error),
                None => break None,
            },
        }
    };
    let usage = builder.usage().priced(&settings.model.prices);
    if let Some(error) = failure {
        return Some(Err((error, usage)));
    }
    Some(match builder.finish() {
        Ok(response) if response.stop == StopReason::Refused => Err((
            ModelError::new(
                ModelErrorKind::Refused,
                "the provider withheld the summary (refusal or content filter); the transcript is \
                 unchanged",
            ),
            usage,
        )),
        // A summary ends with what is still open, which matters most.
        Ok(response) if response.stop == StopReason::Length => Err((
            ModelError::new(
                ModelErrorKind::Stream,
                "the summary was cut off at the output limit; the transcript is unchanged",
            ),
            usage,
        )),
        Ok(response) => Ok((joined_text(&response.content), usage)),
        Err(_) => Err((without_end_marker(), usage)),
    })
}
