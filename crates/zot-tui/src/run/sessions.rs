//! The sessions on disk: those of the working directory, and the one of this conversation.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use zot_sdk::Workspace;
use zot_sdk::conversation::Timestamp;
use zot_sdk::sessions::{
    self, ExportFormat, ForkPoint, IfChanged, IfExists, OperationError, Scope, Summary,
};

use super::effects::Performed;
use super::listings::first_line;
use super::previews::age;
use super::{Chat, exports, listings};
use crate::app::{Input, Listed, SessionEffect};

/// The report of an operation, or its error.
type Outcome = Result<String, String>;

impl Chat {
    pub(super) fn perform_for_sessions(&mut self, effect: SessionEffect) -> Performed {
        let ending = match effect {
            SessionEffect::Resume { session } => self.restart(session),
            SessionEffect::Fork { before } => self.restart_with_copy(before),
            SessionEffect::List => return ControlFlow::Continue(vec![self.list_sessions()]),
            SessionEffect::ListForkPoints => {
                let prompts = listings::prompts(&self.runtime);
                let points = Input::Listed(Listed::ForkPoints(prompts));
                return ControlFlow::Continue(vec![points]);
            }
            SessionEffect::Tree => {
                let workspace = self.workspace();
                return self.report(move || tree(&workspace));
            }
            SessionEffect::Describe => self.with_own_session(|workspace, session| {
                let shown = sessions::show(workspace, session).map_err(readable)?;
                Ok(shown.overview().to_string())
            }),
            SessionEffect::Undo {
                prompts,
                if_changed,
            } => self.with_own_session(move |workspace, session| {
                undo(workspace, session, prompts, if_changed)
            }),
            SessionEffect::Export(name) => match exports::destination(self.runtime.cwd(), &name) {
                Ok(path) => self
                    .with_own_session(move |workspace, session| export(workspace, session, &path)),
                Err(problem) => Err(problem),
            },
            SessionEffect::Import(file) => {
                let workspace = self.workspace();
                let file = exports::expand(&file);
                self.tasks
                    .jobs
                    .spawn_blocking(move || import(&workspace, &file));
                return ControlFlow::Continue(Vec::new());
            }
        };
        match ending {
            Ok(performed) => performed,
            Err(problem) => ControlFlow::Continue(vec![Input::failure(problem)]),
        }
    }

    /// Runs an operation that may take a while, and shows its outcome.
    fn report(&mut self, operation: impl FnOnce() -> Outcome + Send + 'static) -> Performed {
        self.tasks.jobs.spawn_blocking(move || {
            let (text, is_error) = match operation() {
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
            let text = match text.trim_end() {
                "" => "done".to_owned(),
                text => text.to_owned(),
            };
            vec![Input::Note { text, is_error }]
        });
        ControlFlow::Continue(Vec::new())
    }

    /// Runs an operation on the session of this conversation, passing its path.
    fn with_own_session(
        &mut self,
        operation: impl FnOnce(&Workspace, &str) -> Outcome + Send + 'static,
    ) -> Result<Performed, String> {
        let Some(session) = self.session_file() else {
            return Err(match self.runtime.session() {
                Some(_) => "this conversation is not saved yet".to_owned(),
                None => "this conversation is not saved (--no-session)".to_owned(),
            });
        };
        let workspace = self.workspace();
        let session = session.display().to_string();
        Ok(self.report(move || operation(&workspace, &session)))
    }

    /// Returns the directories of this chat.
    fn workspace(&self) -> Workspace {
        let workspace = self.runtime.workspace().clone();
        match self.zot_home() {
            Some(home) => workspace.with_zot_home(home),
            None => workspace,
        }
    }

    /// Returns `$ZOT_HOME`, from where sessions are or from `$ZOT_HOME/sessions/<directory>/<file>`.
    fn zot_home(&self) -> Option<PathBuf> {
        let configured = self.options.sessions.as_deref().and_then(Path::parent);
        let session = self.runtime.session();
        let own = session.and_then(|session| session.path.ancestors().nth(3));
        configured.or(own).map(Path::to_owned)
    }

    /// Lists the sessions of the working directory, newest first, without this one.
    pub(super) fn list_sessions(&mut self) -> Input {
        let Some(own) = self.runtime.session().map(|session| session.path.clone()) else {
            return Input::note("this conversation has no session (--no-session)");
        };
        match sessions::list(&self.workspace(), Scope::Here) {
            Ok(mut found) => {
                found.retain(|one| one.path != own);
                self.sessions = found.into();
                Input::Listed(Listed::Sessions(names(&self.sessions)))
            }
            Err(error) => Input::note(format!("cannot list the sessions: {error}")),
        }
    }

    /// Copies a session immediately, so that every command works on the copy.
    pub(super) fn copy_session(
        &self,
        parent: &Path,
        before: Option<usize>,
    ) -> Result<PathBuf, String> {
        if self.options.sessions.is_none() {
            return Err("sessions have no directory: set ZOT_HOME or HOME".to_owned());
        }
        let point = match before {
            Some(index) => ForkPoint::BeforeCurrentPrompt(index + 1),
            None => ForkPoint::End,
        };
        let parent = parent.display().to_string();
        let copy = sessions::fork_here(&self.workspace(), &parent, point);
        Ok(copy.map_err(readable)?.path)
    }
}

fn readable(error: OperationError) -> String {
    error.to_string()
}

fn tree(workspace: &Workspace) -> Outcome {
    let tree = sessions::tree(workspace, Scope::Here);
    Ok(tree.map_err(|error| error.to_string())?.to_string())
}

fn undo(workspace: &Workspace, session: &str, prompts: usize, if_changed: IfChanged) -> Outcome {
    let report = sessions::undo(workspace, Some(session), prompts, if_changed).map_err(readable)?;
    match report.is_complete() {
        true => Ok(report.to_string()),
        false => Err(report.to_string()),
    }
}

fn export(workspace: &Workspace, session: &str, path: &Path) -> Outcome {
    let format = ExportFormat::of_path(path).unwrap_or(ExportFormat::Portable);
    let report = sessions::export_to_file(workspace, session, format, path, IfExists::Refuse)
        .map_err(readable)?;
    Ok(match report.warning() {
        Some(warning) => format!("{report}\n{warning}"),
        None => report.to_string(),
    })
}

fn import(workspace: &Workspace, file: &Path) -> Vec<Input> {
    match sessions::import(workspace, file) {
        Ok(report) => {
            let session = report.path.display().to_string();
            let findings = report.findings.into_iter().map(Input::note);
            findings.chain([Input::Imported(session)]).collect()
        }
        Err(error) => vec![Input::failure(error)],
    }
}

/// Returns the lines of the list, each beginning with the session's id.
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
