//! Announces the services of this process, and listens to what others announce.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Subscriber;
use tokio::time::{MissedTickBehavior, interval};

use super::connection::{Shared, next};
use super::instance::Instance;
use super::presence::{ANNOUNCE_INTERVAL, Announced};
use crate::agents::wire::AGENT_SERVICES;
use crate::kind::ServiceKind;
use crate::metrics;

impl Shared {
    pub(super) async fn receive_presence(self: Arc<Self>, mut messages: Subscriber) {
        while let Some(message) = next(&mut messages).await {
            if let Ok(instance) = serde_json::from_slice::<Instance>(&message.payload) {
                if instance.draining {
                    // The bus goes on to choose it for a moment.
                    self.doubts.add(&instance.service);
                }
                self.presence.note(instance);
            }
        }
    }

    pub(super) fn announced(&self) -> MutexGuard<'_, Vec<Arc<Announced>>> {
        self.announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn announce_regularly(self: Arc<Self>) {
        let mut ticks = interval(ANNOUNCE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.presence.forget_absent();
            let announced = self.announced().clone();
            for service in announced {
                self.announce(&service);
            }
        }
    }

    /// Announces a service from now on.
    pub(super) fn introduce(&self, announced: &Arc<Announced>) {
        self.announced().push(Arc::clone(announced));
        self.announce(announced);
    }

    /// Tells others that a service has ended.
    pub(super) fn withdraw(&self, announced: &Arc<Announced>) {
        self.announced()
            .retain(|other| !Arc::ptr_eq(other, announced));
        self.publish_presence(Instance {
            ended: true,
            ..self.present(announced)
        });
    }

    pub(super) fn announce(&self, announced: &Announced) {
        self.publish_presence(self.present(announced));
    }

    fn present(&self, announced: &Announced) -> Instance {
        let microseconds = metrics::STORE_LAG_MICROSECONDS.value();
        let lag = Duration::from_micros(microseconds).as_secs_f64() * 1000.0;
        let uses_store = announced.service == ServiceKind::Memory.name()
            || announced.service.starts_with(AGENT_SERVICES);
        Instance {
            service: announced.service.clone(),
            instance: self.instance.clone(),
            host: self.host.clone(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // Requests over sockets and of this process count, too.
            in_flight: metrics::load_of(&announced.service)
                .map_or(0, |load| load.in_flight)
                .max(announced.in_flight.load(Ordering::Relaxed)),
            capacity: announced.announced_capacity.load(Ordering::Relaxed),
            draining: announced.is_draining(),
            ended: false,
            store_lag_ms: (uses_store && microseconds > 0).then_some(lag),
        }
    }

    fn publish_presence(&self, instance: Instance) {
        if let Ok(text) = serde_json::to_vec(&instance) {
            self.post(self.subjects.presence(&instance.service), None, text.into());
        }
    }
}
