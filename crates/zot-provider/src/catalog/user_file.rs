//! `$ZOT_HOME/models.json`: models the user adds, fields the user corrects, and the user's own
//! servers.
//!
//! The file may have been written for the original zot or by hand. Unusable parts are skipped and
//! reported as problems; everything else applies.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use zot_conversation::{PriceTier, Rates};

use super::{Deprecation, Efforts, ModelInfo, OpenAiWire, Thinking, ToolDialect};
use crate::providers::{Wire, provider};

/// Room for tens of thousands of models.
///
/// Limit: a larger `models.json` is a configuration error.
const MAX_MODELS_FILE_BYTES: u64 = 4 << 20;

/// A part of the user's `models.json` that is ignored.
#[derive(Debug, thiserror::Error)]
pub enum CatalogProblem {
    #[error("cannot read {}: {source}; using the built-in models", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The JSON error names the line and the column.
    #[error(
        "{}: {problem}: correct the file; until then only the built-in models are known",
        .path.display()
    )]
    Malformed {
        path: PathBuf,
        problem: serde_json::Error,
    },
    #[error("{}: {place}: {problem}", .path.display())]
    Entry {
        path: PathBuf,
        /// For example `openai, model "gpt-9"`.
        place: String,
        problem: String,
    },
}

/// What `models.json` contains in addition to models.
#[derive(Debug, Default)]
pub struct UserModels {
    /// Providers for which the file sets an address or a wire.
    pub providers: Vec<UserProvider>,
    /// The parts that are ignored, and why.
    pub problems: Vec<CatalogProblem>,
}

/// A provider as `models.json` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProvider {
    pub name: String,
    /// The provider's URL, else that of its first model that has one.
    pub base_url: Option<String>,
    /// Whether `base_url` applies to all models of the provider.
    pub is_for_all: bool,
    pub wire: Option<Wire>,
    /// Whether no key may be sent, not even one that is stored.
    pub keyless: bool,
    pub first_model: Option<String>,
}

/// Adds the models of the file at `path` to `models`, or corrects those that are already listed.
pub(super) fn merge(path: &Path, models: &mut Vec<ModelInfo>) -> UserModels {
    let mut reader = Reader {
        path,
        found: UserModels::default(),
    };
    match read(path) {
        Ok(None) => {}
        Ok(Some(json)) => match serde_json::from_slice::<Value>(&json) {
            Ok(Value::Object(file)) => reader.file(file, models),
            Ok(_) => reader.problem("the file", "expected a JSON object with \"providers\""),
            Err(problem) => {
                let path = path.to_owned();
                let problem = CatalogProblem::Malformed { path, problem };
                reader.found.problems.push(problem);
            }
        },
        Err(source) => {
            let path = path.to_owned();
            let problem = CatalogProblem::Unreadable { path, source };
            reader.found.problems.push(problem);
        }
    }
    reader.found
}

/// Returns the canonical name of the provider `given`, and the name under which the catalog lists
/// its models.
fn names(given: &str) -> (String, String) {
    match provider(given) {
        Some(known) => (known.name.to_string(), known.catalog.to_string()),
        None => (given.to_owned(), given.to_owned()),
    }
}

struct Reader<'a> {
    path: &'a Path,
    found: UserModels,
}

impl Reader<'_> {
    fn problem(&mut self, place: impl Into<String>, problem: impl Display) {
        self.found.problems.push(CatalogProblem::Entry {
            path: self.path.to_owned(),
            place: place.into(),
            problem: problem.to_string(),
        });
    }

    fn file(&mut self, mut file: Map<String, Value>, models: &mut Vec<ModelInfo>) {
        let providers = match file.remove("providers") {
            None | Some(Value::Null) => return,
            Some(Value::Object(providers)) => providers,
            Some(other) => {
                let problem = format!("expected an object, got {}", kind(&other));
                return self.problem("\"providers\"", problem);
            }
        };
        for (name, entry) in providers {
            match entry {
                Value::Null => {}
                _ if name.trim().is_empty() => {
                    self.problem("\"providers\"", "a provider without a name is left out");
                }
                Value::Object(entry) => self.provider(&name, entry, models),
                other => {
                    let problem = format!("expected an object, got {}", kind(&other));
                    self.problem(name, problem);
                }
            }
        }
    }

    fn provider(&mut self, given: &str, entry: Map<String, Value>, models: &mut Vec<ModelInfo>) {
        let (name, catalog) = names(given);
        let mut fields = Fields::new(given.to_owned(), entry);
        let base_url = fields.text("baseUrl");
        let api = fields.text("api");
        let auth = fields.text("auth");
        let listed = fields.list("models");
        let wire = api.and_then(|api| {
            let wire = Wire::named(&api);
            if wire.is_none() {
                fields.problem(format!(
                    "unknown \"api\" {api:?}, using openai; known: {}",
                    Wire::NAMES.join(", ")
                ));
            }
            wire.or_else(|| Wire::named("openai"))
        });
        let keyless = auth.as_deref().map(str::trim) == Some("none");
        if let Some(auth) = auth.filter(|_| !keyless) {
            fields.problem(format!("unknown \"auth\" {auth:?}; the only value is none"));
        }
        let mut used = UserProvider {
            name,
            is_for_all: base_url.is_some(),
            base_url,
            wire,
            keyless,
            first_model: None,
        };
        self.take_problems(fields);
        for (index, model) in listed.into_iter().enumerate() {
            let place = format!("{given}, model number {}", index + 1);
            match model {
                Value::Object(model) => self.model(place, model, &catalog, &mut used, models),
                other => {
                    let problem = format!("expected an object, got {}", kind(&other));
                    self.problem(place, problem);
                }
            }
        }
        if used.base_url.is_some() || used.wire.is_some() {
            self.found.providers.push(used);
        }
    }

    fn model(
        &mut self,
        place: String,
        model: Map<String, Value>,
        catalog: &str,
        provider: &mut UserProvider,
        models: &mut Vec<ModelInfo>,
    ) {
        let mut fields = Fields::new(place, model);
        let Some(id) = fields.text("id") else {
            fields.problem("left out: it needs an \"id\", the name its provider knows");
            return self.take_problems(fields);
        };
        fields.place = format!("{}, model {id:?}", provider.name);
        let given_url = fields
            .fields
            .get("baseUrl")
            .is_some_and(|url| !url.is_null());
        let own_url = fields.text("baseUrl");
        if given_url && own_url.is_none() && !fields.problems.is_empty() {
            // The entry is meant for a server other than the default one.
            fields.problem("left out");
            return self.take_problems(fields);
        }
        let position = models
            .iter()
            .position(|known| known.id == id && known.provider == catalog);
        let position = position.unwrap_or_else(|| {
            models.push(ModelInfo::unknown(catalog, &id));
            models.len() - 1
        });
        if let Some(known) = models.get_mut(position) {
            apply(&mut fields, known);
            let for_all = provider.base_url.as_ref().filter(|_| provider.is_for_all);
            if let Some(url) = own_url.as_ref().or(for_all) {
                known.base_url = Some(url.clone());
                known.own_server = true;
            }
        }
        provider.base_url = provider.base_url.take().or(own_url);
        provider.first_model = provider.first_model.take().or(Some(id));
        self.take_problems(fields);
    }

    fn take_problems(&mut self, fields: Fields) {
        for problem in fields.problems {
            self.problem(fields.place.clone(), problem);
        }
    }
}

/// Overrides the fields the file gives. A limit or price of zero counts as not given, because Go
/// programs write it for missing values; so does an invalid one.
fn apply(fields: &mut Fields, known: &mut ModelInfo) {
    if let Some(name) = fields.text("name") {
        known.name = Cow::Owned(name);
    }
    if let Some(tokens) = fields.tokens("contextWindow") {
        known.context_window = tokens;
    }
    if let Some(tokens) = fields.tokens("maxTokens") {
        known.max_output = tokens;
    }
    if let Some(reasoning) = fields.flag("reasoning") {
        known.reasoning = reasoning;
    }
    if let Some(dialect) = fields.read::<ToolDialect>("toolDialect") {
        known.tool_dialect = dialect;
    }
    if let Some(wire) = fields.read::<OpenAiWire>("wire") {
        known.wire = Some(wire);
    }
    if let Some(thinking) = fields.read::<Thinking>("thinking") {
        known.thinking = thinking;
    }
    if let Some(efforts) = fields.read::<Efforts>("efforts") {
        known.efforts = efforts;
    }
    if let Some(deprecation) = fields.read::<Deprecation>("deprecated") {
        known.deprecation = Some(deprecation);
    }
    apply_prices(fields, known);
}

fn apply_prices(fields: &mut Fields, known: &mut ModelInfo) {
    let rates = &mut known.prices.base;
    let mut is_priced = false;
    for (field, price) in [
        ("priceInput", &mut rates.input),
        ("priceOutput", &mut rates.output),
        ("priceCacheRead", &mut rates.cache_read),
        ("priceCacheWrite", &mut rates.cache_write),
    ] {
        if let Some(given) = fields.price(field) {
            *price = given;
            is_priced = true;
        }
    }
    match fields.read::<Vec<UserTier>>("priceTiers") {
        Some(tiers) if tiers.iter().all(UserTier::is_sound) => {
            known.prices.tiers = tiers.into_iter().map(Into::into).collect();
            known.prices.tiers.sort_by_key(|tier| tier.above);
        }
        Some(_) => fields.problem("\"priceTiers\" is ignored: a price must not be negative"),
        // Tiers of the built-in price do not apply to another price.
        None if is_priced => known.prices.tiers.clear(),
        None => {}
    }
}

/// The fields of one object, and the problems found in them.
struct Fields {
    /// The object's position in the file, for messages.
    place: String,
    fields: Map<String, Value>,
    problems: Vec<String>,
}

impl Fields {
    fn new(place: String, fields: Map<String, Value>) -> Self {
        Self {
            place,
            fields,
            problems: Vec::new(),
        }
    }

    fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Returns the value of a field, converted by `read`; `null` counts as not given.
    fn value<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            let got = match value {
                Value::Number(number) => number.to_string(),
                other => kind(other).to_owned(),
            };
            self.problem(format!(
                "\"{name}\" is ignored: expected {expected}, got {got}"
            ));
        }
        read
    }

    /// Deserialises the value of a field; `null` and an empty string count as not given.
    fn read<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = self.fields.get(name)?;
        if value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty()) {
            return None;
        }
        match serde_json::from_value(value.clone()) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problem(format!("\"{name}\" is ignored: {problem}"));
                None
            }
        }
    }

    /// Returns a string that is not empty.
    fn text(&mut self, name: &str) -> Option<String> {
        let text = self.value(name, "a string", |value| value.as_str().map(str::to_owned))?;
        (!text.trim().is_empty()).then_some(text)
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        self.value(name, "true or false", Value::as_bool)
    }

    fn tokens(&mut self, name: &str) -> Option<u64> {
        let read = |value: &Value| {
            // Some programs write every number with a fraction.
            let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
            value.as_u64().or_else(|| whole(number))
        };
        let tokens = self.value(name, "a number of tokens", read)?;
        (tokens > 0).then_some(tokens)
    }

    fn price(&mut self, name: &str) -> Option<f64> {
        let price = self.value(name, "a price in US dollars", |value| {
            value.as_f64().filter(|price| *price >= 0.0)
        })?;
        (price > 0.0).then_some(price)
    }

    fn list(&mut self, name: &str) -> Vec<Value> {
        self.value(name, "a list", |value| value.as_array().cloned())
            .unwrap_or_default()
    }
}

/// Converts a number without a fraction to a token count, if it is in range.
fn whole(number: f64) -> Option<u64> {
    format!("{number:.0}").parse().ok()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match zot_files::read_existing(path, MAX_MODELS_FILE_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// A price for long prompts, as written in the file.
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

impl UserTier {
    fn is_sound(&self) -> bool {
        let prices = [self.input, self.output, self.cache_read, self.cache_write];
        prices.iter().all(|price| *price >= 0.0)
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
