//! `zot config`: shows and changes settings.

use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::config_files::{ConfigError, Place, Setting, key, set, unset};

use crate::command::CommandFailure;
use crate::configuration;
use crate::failure::USAGE;
use crate::output::{say, say_json};
use crate::warn;

/// Exit code of a setting that is not set.
const UNSET: u8 = 1;

/// Shows and changes settings.
#[derive(Parser)]
#[command(
    name = "zot config",
    bin_name = "zot config",
    after_help = "Flags win over variables (ZOT_MODEL, …), variables over .zot/config.json, that over \
                  $ZOT_HOME/config.json.\n\
                  Exit codes: 0 done, 1 not set, 2 usage or a file that cannot be used."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print the value of a setting
    Get {
        key: String,
        /// As JSON, with where it comes from
        #[arg(long)]
        json: bool,
    },
    /// Change a setting; lists have commas between, an empty value unsets
    Set {
        key: String,
        value: String,
        /// For this project (.zot/config.json) instead of for you
        #[arg(long)]
        project: bool,
    },
    /// Forget a setting
    Unset {
        key: String,
        /// In this project's file instead of yours
        #[arg(long)]
        project: bool,
    },
    /// Show every setting and where it comes from
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print where the file is
    Path {
        /// The project's
        #[arg(long)]
        project: bool,
        /// Both, as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl CommandFailure for Failure {
    fn exit_code(&self) -> u8 {
        USAGE
    }

    fn of_output(&self) -> Option<&io::Error> {
        match self {
            Self::Output(error) => Some(error),
            _ => None,
        }
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.action {
        Action::Get { key: name, json } => get(&name, json),
        Action::Set {
            key: name,
            value,
            project,
        } => {
            let (place, path) = place(project);
            let key = key(&name)?;
            let value = set(&path, place, key, &value)?;
            match value {
                Value::Null => say(format_args!("{} is not set ({})", key.name, path.display()))?,
                value => say(format_args!("{} = {value} ({})", key.name, path.display()))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Unset { key: name, project } => {
            let (place, path) = place(project);
            // What is not known can be taken out, too.
            let name = key(&name).map_or(name, |key| key.name.to_owned());
            if path.exists() {
                unset(&path, place, &name)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::List { json } => list(json),
        Action::Path { json: true, .. } => {
            let path = |place: Place| place.path(&configuration::home(), &here());
            say_json(&json!({"user": path(Place::User), "project": path(Place::Project)}))?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Path { project, .. } => {
            say(place(project).1.display())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn get(name: &str, as_json: bool) -> Result<ExitCode, Failure> {
    let key = key(name)?;
    let layers = configuration::layers(None)?;
    let settings = layers.list();
    let Some(setting) = settings.iter().find(|setting| setting.key == key) else {
        return Ok(ExitCode::from(UNSET));
    };
    if as_json {
        say_json(&as_object(setting))?;
    }
    match &setting.value {
        Some(value) if !as_json => say(shown(value))?,
        Some(_) => {}
        None => {
            if !as_json {
                let default = key.default;
                let _ = writeln!(
                    zot_terminal::stderr(),
                    "zot: {name} is not set (default: {default})"
                );
            }
            return Ok(ExitCode::from(UNSET));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool) -> Result<ExitCode, Failure> {
    let layers = configuration::layers(None)?;
    if as_json {
        let settings: Vec<Value> = layers.list().iter().map(as_object).collect();
        let warnings: Vec<&String> = layers.warnings().iter().chain(layers.unknown()).collect();
        say_json(&json!({"settings": settings, "warnings": warnings, "notes": layers.notes()}))?;
        return Ok(ExitCode::SUCCESS);
    }
    for setting in layers.list() {
        let (value, origin) = match &setting.value {
            Some(value) => (shown(value), setting.origin.to_string()),
            None => (format!("({})", setting.key.default), "default".to_owned()),
        };
        say(format_args!(
            "{:<21} {value:<28} {origin}",
            setting.key.name
        ))?;
    }
    warn(layers.warnings());
    warn(layers.unknown());
    warn(layers.notes());
    Ok(ExitCode::SUCCESS)
}

fn as_object(setting: &Setting) -> Value {
    json!({
        "key": setting.key.name,
        "value": setting.value,
        "source": setting.origin.to_string(),
    })
}

/// As it would be typed.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            items.join(",")
        }
        other => other.to_string(),
    }
}

fn place(project: bool) -> (Place, PathBuf) {
    let place = match project {
        true => Place::Project,
        false => Place::User,
    };
    (place, place.path(&configuration::home(), &here()))
}

fn here() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| Path::new(".").to_owned())
}
