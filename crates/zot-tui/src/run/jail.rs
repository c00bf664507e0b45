//! `/jail` and `/unjail`.

use super::Chat;
use crate::app::Input;

const UNCONFINED: &str = "Not confined: extensions, and what you do yourself with !cmd and @file.";

impl Chat {
    pub(super) fn jail(&mut self) -> Vec<Input> {
        let report = match self.runtime.jail() {
            Ok(report) => report,
            Err(error) => return vec![Input::failure(error)],
        };
        let mut inputs = vec![
            self.current_info(),
            Input::note(format!(
                "jailed: from the next call on, zot's tools stay in {}. read, write and edit use \
                     no other file; bash also reads what programs need, and has a temporary \
                     directory for its home. {UNCONFINED} /unjail lifts this",
                report.directory.display()
            )),
        ];
        inputs.extend(report.caveats().into_iter().map(Input::failure));
        inputs
    }

    pub(super) fn unjail(&mut self) -> Vec<Input> {
        let text = match self.runtime.jailed() {
            Some(_) => {
                "no longer jailed: from the next call on, zot's tools may use any file that you may"
            }
            None => "zot is not jailed; /jail would confine its tools to the working directory",
        };
        self.runtime.unjail();
        vec![self.current_info(), Input::note(text)]
    }
}
