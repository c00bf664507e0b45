//! The sessions of the working directory.

use zot_sdk::conversation::Timestamp;
use zot_sdk::sessions::{self, Scope, Summary};
use zot_sdk::{Runtime, Workspace};

use super::Chat;
use super::listings::first_line;
use super::previews::age;
use crate::app::Input;

impl Chat {
    pub(super) fn list_sessions(&mut self) -> Input {
        match list(&self.runtime) {
            Ok(sessions) => {
                self.sessions = sessions.into();
                Input::Sessions(names(&self.sessions))
            }
            Err(text) => Input::note(text),
        }
    }
}

/// The sessions of the same directory, the newest first; this one is left out. The error is for the
/// user.
fn list(runtime: &Runtime) -> Result<Vec<Summary>, String> {
    let own = runtime.session().map(|session| session.path.clone());
    // `$ZOT_HOME/sessions/<directory>/<file>`.
    let Some(home) = own.as_deref().and_then(|path| path.ancestors().nth(3)) else {
        return Err("this conversation has no session (--no-session)".to_owned());
    };
    let workspace = Workspace::of_process()
        .with_zot_home(home)
        .in_directory(runtime.cwd());
    let found = sessions::list(&workspace, Scope::Here);
    let mut found = found.map_err(|error| format!("the sessions cannot be listed: {error}"))?;
    found.retain(|one| Some(&one.path) != own.as_ref());
    Ok(found)
}

/// Sessions as they are chosen from, each beginning with its id.
fn names(sessions: &[Summary]) -> Vec<String> {
    let now = Timestamp::now();
    let ages: Vec<String> = sessions.iter().map(|one| age(one.modified, now)).collect();
    let widest = ages.iter().map(String::len).max().unwrap_or(0);
    let names = sessions.iter().zip(&ages).map(|(one, age)| {
        let id: String = one.id.chars().take(8).collect();
        format!("{id}  {age:<widest$}  {}", first_line(&one.title))
    });
    names.collect()
}
