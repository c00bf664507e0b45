//! `$ZOT_HOME/models.json`: models the user adds, fields the user corrects.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use zot_conversation::{PriceTier, Rates};

use super::{Deprecation, Efforts, ModelInfo, OpenAiWire, Thinking, ToolDialect};

/// Room for tens of thousands of models.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Why the user's `models.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("cannot read {}", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The JSON error ends with the line and the column.
    #[error(
        "{}: {problem}: correct the file, or move it away to use the built-in models",
        .path.display()
    )]
    Malformed {
        path: PathBuf,
        problem: serde_json::Error,
    },
    #[error(
        "{}: model {id:?} of {provider} has {field} {value}, which must not be negative: correct the file",
        .path.display()
    )]
    NegativePrice {
        path: PathBuf,
        provider: String,
        id: String,
        field: &'static str,
        value: f64,
    },
    #[error(
        "{}: a model of {provider} has an empty \"id\": give it the id the provider knows",
        .path.display()
    )]
    EmptyId { path: PathBuf, provider: String },
}

#[derive(Deserialize)]
struct UserFile {
    #[serde(default)]
    providers: BTreeMap<String, UserProvider>,
}

#[derive(Deserialize)]
struct UserProvider {
    #[serde(default)]
    models: Vec<UserModel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserModel {
    id: String,
    name: Option<String>,
    reasoning: Option<bool>,
    context_window: Option<u64>,
    max_tokens: Option<u64>,
    base_url: Option<String>,
    price_input: Option<f64>,
    price_output: Option<f64>,
    price_cache_read: Option<f64>,
    price_cache_write: Option<f64>,
    tool_dialect: Option<ToolDialect>,
    price_tiers: Option<Vec<UserTier>>,
    wire: Option<OpenAiWire>,
    thinking: Option<Thinking>,
    efforts: Option<Efforts>,
    deprecated: Option<Deprecation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserTier {
    above: u64,
    #[serde(default)]
    input: f64,
    #[serde(default)]
    output: f64,
    #[serde(default)]
    cache_read: f64,
    #[serde(default)]
    cache_write: f64,
}

/// Adds the models of the file at `path` to `models`, or corrects those that are there already.
pub(super) fn merge(path: &Path, models: &mut Vec<ModelInfo>) -> Result<(), CatalogError> {
    let Some(json) = read(path).map_err(|source| CatalogError::Unreadable {
        path: path.to_owned(),
        source,
    })?
    else {
        return Ok(());
    };
    let file: UserFile =
        serde_json::from_slice(&json).map_err(|problem| CatalogError::Malformed {
            path: path.to_owned(),
            problem,
        })?;
    for (provider, entry) in file.providers {
        for model in entry.models {
            check(path, &provider, &model)?;
            let index = models
                .iter()
                .position(|known| known.id == model.id && known.provider == provider);
            let index = index.unwrap_or_else(|| {
                models.push(ModelInfo::unknown(&provider, &model.id));
                models.len() - 1
            });
            if let Some(known) = models.get_mut(index) {
                apply(model, known);
            }
        }
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "larger than 4 MiB",
        ));
    }
    Ok(Some(bytes))
}

fn check(path: &Path, provider: &str, model: &UserModel) -> Result<(), CatalogError> {
    if model.id.is_empty() {
        return Err(CatalogError::EmptyId {
            path: path.to_owned(),
            provider: provider.to_owned(),
        });
    }
    let prices = [
        ("priceInput", model.price_input),
        ("priceOutput", model.price_output),
        ("priceCacheRead", model.price_cache_read),
        ("priceCacheWrite", model.price_cache_write),
    ];
    let tiers = model.price_tiers.iter().flatten();
    let tiers = tiers.flat_map(|tier| [tier.input, tier.output, tier.cache_read, tier.cache_write]);
    let tiers = tiers.map(|value| ("priceTiers", Some(value)));
    for (field, value) in prices.into_iter().chain(tiers) {
        if let Some(value) = value.filter(|value| *value < 0.0) {
            return Err(CatalogError::NegativePrice {
                path: path.to_owned(),
                provider: provider.to_owned(),
                id: model.id.clone(),
                field,
                value,
            });
        }
    }
    Ok(())
}

/// Overrides the fields the file gives. A zero limit counts as not given, as Go programs write it.
fn apply(model: UserModel, known: &mut ModelInfo) {
    if let Some(name) = model.name.filter(|name| !name.is_empty()) {
        known.name = Cow::Owned(name);
    }
    if let Some(tokens) = model.context_window.filter(|tokens| *tokens > 0) {
        known.context_window = tokens;
    }
    if let Some(tokens) = model.max_tokens.filter(|tokens| *tokens > 0) {
        known.max_output = tokens;
    }
    if let Some(url) = model.base_url.filter(|url| !url.is_empty()) {
        known.base_url = Some(url);
    }
    known.tool_dialect = model.tool_dialect.unwrap_or(known.tool_dialect);
    known.reasoning = model.reasoning.unwrap_or(known.reasoning);
    known.wire = model.wire.or(known.wire);
    known.thinking = model.thinking.unwrap_or(known.thinking);
    known.efforts = model.efforts.unwrap_or(known.efforts);
    if model.deprecated.is_some() {
        known.deprecation = model.deprecated;
    }
    let given = [
        model.price_input,
        model.price_output,
        model.price_cache_read,
        model.price_cache_write,
    ];
    let rates = &mut known.prices.base;
    rates.input = model.price_input.unwrap_or(rates.input);
    rates.output = model.price_output.unwrap_or(rates.output);
    rates.cache_read = model.price_cache_read.unwrap_or(rates.cache_read);
    rates.cache_write = model.price_cache_write.unwrap_or(rates.cache_write);
    if let Some(tiers) = model.price_tiers {
        known.prices.tiers = tiers.into_iter().map(Into::into).collect();
        known.prices.tiers.sort_by_key(|tier| tier.above);
    } else if given.iter().any(Option::is_some) {
        // Tiers of the built-in price do not go with another price.
        known.prices.tiers.clear();
    }
}

impl From<UserTier> for PriceTier {
    fn from(tier: UserTier) -> Self {
        Self {
            above: tier.above,
            rates: Rates {
                input: tier.input,
                output: tier.output,
                cache_read: tier.cache_read,
                cache_write: tier.cache_write,
            },
        }
    }
}
