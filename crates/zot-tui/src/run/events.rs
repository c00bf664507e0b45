//! Events of the agent, on their way to the state.

use std::io;

use zot_sdk::{Event, EventStream, Image};

use super::{Chat, Ending};
use crate::app::Input;

/// Events taken in one go before keys are looked at again.
const MAX_BURST: usize = 512;

impl Chat {
    /// Takes an event and all that have come with it.
    pub(super) fn take_burst(&mut self, first: Option<Event>) -> io::Result<Option<Ending>> {
        let mut next = first;
        for _ in 0..MAX_BURST {
            let Some(event) = next else {
                self.work = None;
                let info = self.present_info();
                self.take_soon(info)?;
                return self.take_soon(Input::WorkEnded);
            };
            self.take_news()?;
            let pictures = self.pictures(&event);
            if let Some(ending) = self.take_soon(Input::Agent(event))? {
                return Ok(Some(ending));
            }
            let (columns, rows) = self.app.size();
            self.studio.draw(pictures, columns, rows / 2);
            if self.studio.is_busy() {
                break;
            }
            let Some(work) = &mut self.work else { break };
            next = match work.next_now() {
                Some(event) => event,
                None => break,
            };
        }
        Ok(None)
    }

    /// What is going on between the events.
    pub(super) fn take_news(&mut self) -> io::Result<()> {
        let watch = self.options.watch.clone();
        let watch = watch.as_ref();
        if watch.is_some_and(|watch| watch.has_compaction()) {
            self.take(Input::Compaction)?;
        }
        if let Some((limit, answer)) = watch.and_then(|watch| watch.step_limit()) {
            self.step_answer = Some(answer);
            self.take(Input::StepLimit(limit))?;
        }
        Ok(())
    }

    /// The pictures that an event tells of.
    fn pictures(&self, event: &Event) -> Vec<Image> {
        match (&self.options.watch, event) {
            (Some(watch), Event::ToolResult { id, .. }) => watch.pictures.take(id),
            (Some(watch), Event::UserMessage { .. }) => watch.pictures.take(""),
            _ => Vec::new(),
        }
    }

    pub(super) fn take_aside(&mut self, event: Option<Event>) -> io::Result<Option<Ending>> {
        let input = match event {
            Some(event) => Input::Aside(event),
            None => {
                self.aside = None;
                // What it cost is counted.
                let info = self.present_info();
                self.take_soon(info)?;
                Input::AsideEnded
            }
        };
        self.take_soon(input)
    }
}

pub(super) async fn next_event(work: &mut Option<EventStream>) -> Option<Event> {
    match work {
        Some(work) => work.next().await,
        None => std::future::pending().await,
    }
}
