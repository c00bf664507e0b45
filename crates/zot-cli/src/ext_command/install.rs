//! `zot ext install`.

use std::process::ExitCode;

use zot_sdk::extensions::Manifest;
use zot_sdk::extensions::store::{OnConflict, Origin, Store};

use super::permissions;
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::print_line;
use crate::text::{note, one_line};

pub(super) async fn run(
    store: &Store,
    origin: &str,
    consent: Consent,
    on_conflict: OnConflict,
) -> Result<ExitCode, Failure> {
    let origin = Origin::parse(origin)?;
    let mut progress = |step: &str| note(format_args!("{}", one_line(step)));
    let staged = store.stage(&origin, &mut progress).await?;
    staged.check_conflict(on_conflict)?;
    show(staged.manifest(), &origin);
    if let Some(old) = staged.installed_directory() {
        note(format_args!("  replaces {}", old.display()));
    }
    consent.obtain("install it?", "not installed").await?;
    let manifest = staged.manifest().clone();
    let directory = staged.install(on_conflict)?;
    print_line(format_args!(
        "{} {} installed in {}",
        manifest.name,
        one_line(&manifest.version),
        directory.display()
    ))?;
    if !manifest.enabled {
        note(format_args!(
            "its manifest disables it: run `zot ext enable {}` to use it",
            manifest.name
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(manifest: &Manifest, origin: &Origin) {
    let about = match manifest.description.as_str() {
        "" => String::new(),
        description => format!(": {}", one_line(description)),
    };
    let version = one_line(&manifest.version);
    note(format_args!("{} {version}{about}", manifest.name));
    note(format_args!("  from {}", one_line(&origin.to_string())));
    let mut command = vec![manifest.exec.clone()];
    command.extend(manifest.args.iter().cloned());
    note(format_args!("  starts {}", one_line(&command.join(" "))));
    for line in permissions::details(manifest) {
        note(format_args!("  {}", one_line(&line)));
    }
    if let Some(enforcement) = permissions::enforcement(manifest) {
        note(format_args!("  {enforcement}"));
    }
}
