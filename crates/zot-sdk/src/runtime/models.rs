//! The models a runtime can switch between.

use std::sync::Arc;

use zot_provider::catalog::{Catalog, ModelInfo};

use super::ModelChangeError;
use crate::assembly::{Chosen, Clients, Names, find_model, nearest};
use crate::live_models::LiveModels;

/// The models of a provider, and how to reach them.
pub(super) struct Models {
    pub(super) provider: String,
    pub(super) clients: Clients,
    /// Whether the runtime may switch to models outside the catalog.
    is_open: bool,
    catalog: Arc<Catalog>,
    pub(super) live: Option<LiveModels>,
}

impl Models {
    pub(super) fn new(chosen: Chosen, clients: Clients, live: Option<LiveModels>) -> Self {
        Self {
            provider: chosen.selected.provider,
            clients,
            is_open: chosen.selected.open_models,
            catalog: Arc::new(chosen.catalog),
            live,
        }
    }

    /// Returns which names a program may use.
    pub(super) fn accepted_names(&self) -> Names {
        match self.is_open {
            true => Names::Any,
            false => Names::Known,
        }
    }

    /// Returns which names a user may type: any on a server that they run.
    pub(super) fn accepted_typed_names(&self) -> Names {
        match self.is_open || self.clients.reach_own_server() {
            true => Names::Any,
            false => Names::Known,
        }
    }

    pub(super) fn find(&self, model: &str, names: Names) -> Option<ModelInfo> {
        find_model(&self.catalog, &self.provider, model, Names::Known)
            .or_else(|| self.live.as_ref()?.find(&self.catalog, model))
            .or_else(|| find_model(&self.catalog, &self.provider, model, names))
    }

    pub(super) fn unknown(&self, model: &str) -> ModelChangeError {
        ModelChangeError::Unknown {
            model: model.to_owned(),
            provider: self.provider.clone(),
            nearest: nearest(&self.catalog, &self.provider, model),
        }
    }

    /// Returns all known models, including those that the provider lists itself.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        match &self.live {
            Some(live) => live.added_to(&self.catalog),
            None => Arc::clone(&self.catalog),
        }
    }
}
