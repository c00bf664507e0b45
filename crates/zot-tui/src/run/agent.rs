//! Carries out effects for the agent of this conversation.

use std::sync::Arc;

use zot_sdk::context::Mentioning;
use zot_sdk::{ApprovalPolicy, ApprovalScope, Budget};

use super::{Chat, listings};
use crate::app::{AgentEffect, Input, Prompt};

impl Chat {
    pub(super) fn perform_for_agent(&mut self, effect: AgentEffect) -> Vec<Input> {
        match effect {
            AgentEffect::Prompt(prompt) => return self.prompt(prompt),
            AgentEffect::Steer(prompt) => return self.steer(prompt),
            AgentEffect::Compact => match self.runtime.compact() {
                Ok(stream) => self.tasks.work = Some(stream),
                Err(error) => return vec![Input::failure(error), Input::WorkEnded],
            },
            AgentEffect::Cancel => self.runtime.cancel(),
            AgentEffect::Clear => {
                if let Err(error) = self.runtime.clear() {
                    return vec![Input::failure(error)];
                }
            }
            AgentEffect::Aside(question) => {
                self.tasks.aside = Some(self.runtime.ask_aside(&question))
            }
            AgentEffect::CancelAside => self.tasks.aside = None,
            AgentEffect::SetApproval(scope) => return vec![self.set_approval(scope)],
            AgentEffect::SetModel(model) => return self.set_model(model),
            AgentEffect::Sandbox(level) => return self.sandbox(level),
            AgentEffect::Jail => return self.jail(),
            AgentEffect::Unjail => return self.unjail(),
            AgentEffect::Confirm { id, decision } => {
                if let Err(error) = self.runtime.confirm(&id, decision) {
                    return vec![Input::failure(error)];
                }
            }
            AgentEffect::Answer { id, answer } => {
                if let Err(error) = self.runtime.answer_question(id.as_str(), answer) {
                    return vec![Input::failure(error)];
                }
            }
            AgentEffect::AllowSteps(more) => self.runtime.allow_steps(more),
        }
        Vec::new()
    }

    fn prompt(&mut self, prompt: Prompt) -> Vec<Input> {
        let (message, mut inputs) = self.with_mentions(prompt);
        match self.runtime.prompt_mentioning(message, Budget::default()) {
            Ok(stream) => self.tasks.work = Some(stream),
            Err(error) => inputs.extend([Input::failure(error), Input::WorkEnded]),
        }
        inputs
    }

    fn steer(&mut self, prompt: Prompt) -> Vec<Input> {
        let (message, inputs) = self.with_mentions(prompt.clone());
        if !message.resources.is_empty() {
            let runtime = Arc::clone(&self.runtime);
            self.tasks.jobs.spawn(async move {
                let (text, images) = runtime.with_resources(message).await;
                match runtime.steer(&text, images) {
                    Ok(()) => inputs,
                    Err(_) => vec![Input::Prompt(prompt)],
                }
            });
            return Vec::new();
        }
        match self.runtime.steer(&message.text, message.images) {
            Ok(()) => inputs,
            // The running prompt has just ended: this is the next one.
            Err(_) => vec![Input::Prompt(prompt)],
        }
    }

    fn set_approval(&mut self, scope: ApprovalScope) -> Input {
        // A mistyped name must not switch off approval for everything else.
        if let Some(problem) = listings::unknown_tools(&self.runtime, &scope) {
            return Input::failure(problem);
        }
        let policy = self.runtime.approval();
        self.runtime.set_approval(ApprovalPolicy {
            scope: scope.clone(),
            ..policy
        });
        Input::Approval(scope)
    }

    fn set_model(&mut self, model: String) -> Vec<Input> {
        match self.runtime.set_typed_model(&model) {
            Ok(unknown) => {
                self.chosen_model = Some(model);
                let note = self.save_model();
                std::iter::once(self.current_info())
                    .chain(unknown.map(Input::note))
                    .chain(note)
                    .collect()
            }
            Err(error) => vec![Input::failure(error)],
        }
    }

    /// Returns the message of a prompt, with the files that the user mentioned.
    fn with_mentions(&self, prompt: Prompt) -> (Mentioning, Vec<Input>) {
        let Prompt {
            mut text,
            is_typed,
            mentions,
            attached: outputs,
        } = prompt;
        if !is_typed {
            let message = Mentioning {
                text,
                ..Mentioning::default()
            };
            return (message, Vec::new());
        }
        let mentions = mentions.as_deref().unwrap_or(&text);
        let attached = self.runtime.attach_mentions(mentions);
        // What became of resources is in the message once they are read.
        let is_known = !attached.parts.is_empty() && attached.resources.is_empty();
        let mentioned = is_known.then(|| Input::Mentioned {
            content: text.clone(),
            parts: attached.parts,
        });
        for output in outputs {
            text.push_str("\n\n");
            text.push_str(&output.for_model());
        }
        if !attached.text.is_empty() {
            text.push_str("\n\n");
            text.push_str(&attached.text);
        }
        let message = Mentioning {
            text,
            images: attached.images,
            resources: attached.resources,
        };
        (message, Vec::from_iter(mentioned))
    }
}
