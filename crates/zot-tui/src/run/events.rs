//! Passes the agent's events to the state.

use std::io;

use zot_sdk::conversation::ContentBlock;
use zot_sdk::{AgentEvent, EventStream, Image};

use super::{Chat, Ending};
use crate::app::Input;

/// How many events are handled in a row before keys have their turn.
const MAX_BURST: usize = 512;

impl Chat {
    /// Handles an event and those that arrived with it.
    pub(super) fn handle_events(
        &mut self,
        first: Option<AgentEvent>,
    ) -> io::Result<Option<Ending>> {
        let mut next = first;
        for _ in 0..MAX_BURST {
            let Some(event) = next else {
                self.tasks.work = None;
                let info = self.current_info();
                self.handle_and_draw_soon(info)?;
                return self.handle_and_draw_soon(Input::WorkEnded);
            };
            let images = images(&event);
            if let Some(ending) = self.handle_and_draw_soon(Input::Agent(event))? {
                return Ok(Some(ending));
            }
            let (columns, rows) = self.app.size();
            self.image_renderer.draw(images, columns, rows / 2);
            if self.image_renderer.is_busy() {
                break;
            }
            let Some(work) = &mut self.tasks.work else {
                break;
            };
            next = match work.next_now() {
                Some(event) => event,
                None => break,
            };
        }
        Ok(None)
    }

    pub(super) fn handle_aside(&mut self, event: Option<AgentEvent>) -> io::Result<Option<Ending>> {
        let input = match event {
            Some(event) => Input::Aside(event),
            None => {
                self.tasks.aside = None;
                // The cost includes the side question.
                let info = self.current_info();
                self.handle_and_draw_soon(info)?;
                Input::AsideEnded
            }
        };
        self.handle_and_draw_soon(input)
    }
}

pub(super) async fn next_event(work: &mut Option<EventStream>) -> Option<AgentEvent> {
    match work {
        Some(work) => work.next().await,
        None => std::future::pending().await,
    }
}

/// Returns the images of an event.
fn images(event: &AgentEvent) -> Vec<Image> {
    let content = match event {
        AgentEvent::UserMessage(message) => &message.content,
        AgentEvent::ToolFinished { result, .. } => &result.content,
        _ => return Vec::new(),
    };
    let images = content.iter().filter_map(|block| match block {
        ContentBlock::Image(image) => Some(image.clone()),
        _ => None,
    });
    images.collect()
}
