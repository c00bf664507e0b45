//! Commands that start work, and those that affect running work.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zot_sdk::{
    Answer, Arguments, Budget, Decision, Image, JsonObject, Remember, SteerError, Verdict,
};
use zot_wire::rpc::{
    AnswerAction, AnswerCommand, ConfirmCommand, ImageInput, PromptCommand, RememberFor, RequestId,
    SteerCommand, SteeredData, WhenBusy,
};

use super::Server;
use super::refusal::Refusal;
use crate::queue::{Job, JobWork};

impl Server {
    pub(super) fn prompt(
        &mut self,
        id: Option<RequestId>,
        prompt: PromptCommand,
    ) -> io::Result<()> {
        const NAME: &str = "prompt";
        if self.running.is_some() {
            match prompt.when_busy.unwrap_or_default() {
                WhenBusy::Queue => {}
                WhenBusy::Reject => {
                    return self.refuse(id, NAME, "busy", "busy".to_owned());
                }
                WhenBusy::Steer => {
                    let steer = SteerCommand {
                        message: prompt.message.clone(),
                        images: prompt.images.clone(),
                        mentions: prompt.mentions,
                    };
                    match self.steer(steer) {
                        // The work has just ended: this becomes the next prompt.
                        Err(refusal) if refusal.code == "not_running" => {}
                        result => return self.respond(id, NAME, result),
                    }
                }
            }
        }
        match prompt_work(prompt) {
            Ok(work) => self.enqueue(Job { id, work }, NAME),
            Err(Refusal { code, error }) => self.refuse(id, NAME, code, error),
        }
    }

    pub(super) fn steer(&self, steer: SteerCommand) -> Result<SteeredData, Refusal> {
        let images = decode_images(steer.images)?;
        if steer.message.is_empty() && images.is_empty() {
            return Err(Refusal::argument("the message is empty"));
        }
        let (message, images) = match steer.mentions {
            true => {
                let message = self.runtime.with_mentions(steer.message, images);
                (message.without_resources(), message.images)
            }
            false => (steer.message, images),
        };
        match self.runtime.steer(&message, images) {
            Ok(()) => Ok(SteeredData { steered: true }),
            Err(error @ SteerError::NotRunning) => Err(Refusal::new("not_running", error)),
            Err(error @ SteerError::TooMany) => Err(Refusal::new("queue_full", error)),
        }
    }

    pub(super) fn confirm(&mut self, confirm: ConfirmCommand) -> Result<(), Refusal> {
        self.confirming.set_announced(&self.runtime);
        let verdict = if confirm.allow {
            let arguments = match confirm.args {
                None => None,
                Some(args) => {
                    let arguments = Arguments::from_model_text(args.get());
                    if let Err(malformed) = arguments.json() {
                        return Err(Refusal::argument(format!("args: {malformed}")));
                    }
                    Some(arguments)
                }
            };
            Verdict::Allow { arguments }
        } else {
            let reason = confirm.reason.filter(|reason| !reason.is_empty());
            Verdict::Deny {
                reason: match reason {
                    Some(reason) => format!("refused: {reason}"),
                    None => "refused by the user".to_owned(),
                },
            }
        };
        let remember = match confirm.remember.unwrap_or_default() {
            RememberFor::Call => Remember::Call,
            RememberFor::Tool => Remember::Tool,
            RememberFor::Session => Remember::Session,
        };
        self.runtime
            .confirm(&confirm.call_id, Decision { verdict, remember })
            .map_err(|error| Refusal::new("not_waiting", error))
    }

    pub(super) fn answer(&self, answer: AnswerCommand) -> Result<(), Refusal> {
        let content = answer
            .content
            .map(|content| JsonObject::parse(content.get()));
        let content = content.transpose();
        let content = content.map_err(|error| Refusal::argument(format!("content: {error}")))?;
        let id = &answer.question_id;
        let answer = match answer.action {
            AnswerAction::Accept => Answer::Accept { content },
            AnswerAction::Decline => Answer::Decline,
            AnswerAction::Cancel => Answer::Cancel,
        };
        self.runtime
            .answer_question(id, answer)
            .map_err(|error| Refusal::new("not_waiting", error))
    }

    pub(super) fn enqueue(&mut self, job: Job, command: &str) -> io::Result<()> {
        match self.queue.push(job) {
            // Starts immediately if nothing runs, so that the next command sees it running.
            Ok(()) => self.start_next(),
            Err(job) => self.refuse(
                job.id,
                command,
                "queue_full",
                "too many prompts are waiting; wait for a done and send it again".to_owned(),
            ),
        }
    }
}

fn prompt_work(prompt: PromptCommand) -> Result<JobWork, Refusal> {
    let images = decode_images(prompt.images)?;
    if prompt.message.is_empty() && images.is_empty() {
        return Err(Refusal::argument(
            "the prompt is empty: give a message, images or both",
        ));
    }
    if prompt.max_cost_usd.is_some_and(|cost| cost < 0.0) {
        return Err(Refusal::argument("max_cost_usd must not be negative"));
    }
    Ok(JobWork::Prompt {
        text: prompt.message,
        images,
        mentions: prompt.mentions,
        budget: Budget {
            max_steps: prompt.max_steps,
            max_cost_usd: prompt.max_cost_usd,
            max_tokens: prompt.max_tokens,
            timeout: prompt.timeout_ms.map(Duration::from_millis),
        },
    })
}

fn decode_images(images: Vec<ImageInput>) -> Result<Vec<Image>, Refusal> {
    let decode = |(index, image): (usize, ImageInput)| {
        let data = STANDARD.decode(image.data.as_bytes()).map_err(|error| {
            Refusal::argument(format!("images.{index}.data is not base64: {error}"))
        })?;
        if !image.mime_type.starts_with("image/") {
            return Err(Refusal::argument(format!(
                "images.{index}.mime_type must be like image/png, not {:?}",
                image.mime_type
            )));
        }
        Image::recognised(&image.mime_type, data.into())
            .map_err(|error| Refusal::argument(format!("images.{index}: {error}")))
    };
    images.into_iter().enumerate().map(decode).collect()
}
