//! `zot config`: shows and changes settings.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::configuration::{self, ConfigFile, Setting, SettingList, typed};

use crate::failure::Failure;
use crate::output::{Format, print_json, print_line};
use crate::warn;

/// Exit code of a setting that is not set.
const UNSET: u8 = 1;

/// Show and change settings
#[derive(Parser)]
#[command(
    name = "zot config",
    bin_name = "zot config",
    after_help = "Without a command: list.\n\
                  Flags override variables (ZOT_MODEL, …), variables override .zot/config.json, and that overrides \
                  $ZOT_HOME/config.json.\n\
                  Exit codes: 0 done, 1 not set, 2 usage or a file that cannot be used."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Print the value of a setting
    Get {
        /// The name of the setting (`zot config list`)
        key: String,
        /// Print JSON, including where the value comes from
        #[arg(long)]
        json: bool,
    },
    /// Change a setting
    Set {
        /// The name of the setting (`zot config list`)
        key: String,
        /// The value; the items of a list are separated by commas, and an empty value unsets the
        /// setting
        value: String,
        /// Change the project's file (.zot/config.json) instead of yours
        #[arg(long)]
        project: bool,
    },
    /// Remove a setting
    Unset {
        /// The name of the setting
        key: String,
        /// Change the project's file instead of yours
        #[arg(long)]
        project: bool,
    },
    /// Show every setting and where it comes from
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the path of the settings file
    Path {
        /// Print the path of the project's file
        #[arg(long)]
        project: bool,
        /// Print both paths as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let workspace = &Workspace::of_process();
    match arguments.action.unwrap_or(Action::List { json: false }) {
        Action::Get { key, json } => return get(workspace, &key, Format::of(json)),
        Action::Set {
            key,
            value,
            project,
        } => print_line(configuration::set(workspace, place(project), &key, &value)?)?,
        Action::Unset { key, project } => configuration::unset(workspace, place(project), &key)?,
        Action::List { json } => list(workspace, Format::of(json))?,
        Action::Path { json: true, .. } => {
            let path = |place| configuration::path(workspace, place);
            print_json(
                &json!({"user": path(ConfigFile::User), "project": path(ConfigFile::Project)}),
            )?;
        }
        Action::Path { project, .. } => {
            print_line(configuration::path(workspace, place(project)).display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn get(workspace: &Workspace, name: &str, format: Format) -> Result<ExitCode, Failure> {
    let setting = configuration::get(workspace, name)?;
    match (format, &setting.value) {
        (Format::Json, _) => print_json(&as_object(&setting))?,
        (Format::Text, Some(value)) => print_line(typed(value))?,
        (Format::Text, None) => {
            let default = setting.key.default;
            let _ = writeln!(
                zot_terminal::stderr(),
                "zot: {name} is not set (default: {default})"
            );
        }
    }
    Ok(match setting.value {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::from(UNSET),
    })
}

fn list(workspace: &Workspace, format: Format) -> Result<(), Failure> {
    let SettingList {
        settings,
        warnings,
        notes,
    } = configuration::list(workspace)?;
    if format == Format::Json {
        let settings: Vec<Value> = settings.iter().map(as_object).collect();
        print_json(&json!({"settings": settings, "warnings": warnings, "notes": notes}))?;
        return Ok(());
    }
    // The values of users have any length, so the column is as wide as the defaults, in parentheses.
    let name_width = settings.iter().map(|setting| setting.key.name.len()).max();
    let value_width = settings
        .iter()
        .map(|setting| setting.key.default.len() + 2)
        .max();
    let (name_width, value_width) = (name_width.unwrap_or(0), value_width.unwrap_or(0));
    for setting in settings {
        let (value, origin) = match &setting.value {
            Some(value) => (typed(value), setting.origin.to_string()),
            None => (format!("({})", setting.key.default), "default".to_owned()),
        };
        print_line(format_args!(
            "{:<name_width$} {value:<value_width$} {origin}",
            setting.key.name
        ))?;
    }
    warn(&warnings);
    warn(&notes);
    Ok(())
}

fn as_object(setting: &Setting) -> Value {
    json!({
        "key": setting.key.name,
        "value": setting.value,
        "source": setting.origin.to_string(),
    })
}

fn place(project: bool) -> ConfigFile {
    match project {
        true => ConfigFile::Project,
        false => ConfigFile::User,
    }
}
