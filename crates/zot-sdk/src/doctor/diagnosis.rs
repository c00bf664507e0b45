//! Resolves a configuration without running it.

use std::path::PathBuf;

use zot_provider::network::{self, NetworkSettings, Plan, PlanError, ProbeStep};
use zot_provider::{Endpoint, HttpClient, Wire};

use crate::assembly::{self, AssemblyError, Chosen};
use crate::config::Config;
use crate::tables::Tables;

/// What a runtime with this configuration would use.
pub struct Diagnosis {
    /// zot's own directory.
    pub home: PathBuf,
    /// The name of the provider.
    pub provider: String,
    /// The id of the model.
    pub model: String,
    /// Where the key comes from; never the key.
    pub key_source: Option<String>,
    /// Warnings about the configuration.
    pub warnings: Vec<String>,
    endpoint: Option<(Wire, Endpoint)>,
}

/// Resolves a configuration without starting or contacting anything.
pub fn diagnose(config: &Config) -> Result<Diagnosis, AssemblyError> {
    let home = assembly::home(config);
    let tables = Tables::load(&home)?;
    let selected = Chosen::choose(config, &home, tables, None)?.selected;
    let key_source = selected
        .credential
        .as_ref()
        .map(|credential| credential.source().to_string());
    Ok(Diagnosis {
        endpoint: selected.network.map(|network| {
            let endpoint = Endpoint {
                provider: selected.provider.clone(),
                base_url: network.way.base_url,
                api_key: None,
            };
            (network.way.route.wire(), endpoint)
        }),
        home,
        provider: selected.provider,
        model: selected.model.id.to_string(),
        key_source,
        warnings: selected.warnings,
    })
}

impl Diagnosis {
    /// Returns what would be contacted, if anything.
    pub fn network_plan(&self) -> Result<Option<Plan>, PlanError> {
        let settings = NetworkSettings::from_environment();
        let Some((wire, endpoint)) = &self.endpoint else {
            return Ok(None);
        };
        let plan = Plan::new(endpoint, self.key_source.as_deref(), &settings)?;
        Ok(Some(plan.for_requests(*wire, endpoint, &self.model)))
    }
}

/// Connects to the provider (name lookup, connection, encryption) without sending a request.
pub async fn probe(plan: &Plan) -> Vec<ProbeStep> {
    network::probe(plan, &HttpClient::new()).await
}
