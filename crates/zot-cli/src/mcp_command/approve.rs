//! `zot mcp approve` and `zot mcp reset-project-choices`.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use zot_sdk::Workspace;
use zot_sdk::mcp::{self, Decision, ProjectFile, ProjectState};
use zot_terminal::Print;

use crate::consent::{Consent, agrees};
use crate::failure::Failure;
use crate::output::{print, print_line};
use crate::text::one_line;

pub(super) async fn run(workspace: &Workspace, consent: Consent) -> Result<ExitCode, Failure> {
    let Some(file) = mcp::project(workspace) else {
        return Err(Failure::failed(format!(
            "{} has no .mcp.json with servers",
            workspace.cwd.display()
        )));
    };
    if file.state == ProjectState::Included {
        print_line(format_args!("{} is approved already", file.path.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(|output| write_servers(output, &file))?;
    let is_approved = match consent {
        Consent::Given => true,
        Consent::Ask if io::stdin().is_terminal() => {
            agrees("start these servers with zot?").await?
        }
        // Unlike elsewhere, a script has to say so: the file may be anybody's.
        Consent::Ask => {
            return Err(Failure::failed(
                "not approved: no terminal to ask in; --yes approves them",
            ));
        }
    };
    let decision = match is_approved {
        true => Decision::Approved,
        false => Decision::Refused,
    };
    mcp::approve(workspace, &file, decision)?;
    match is_approved {
        true => {
            print_line(format_args!("{} is approved", file.path.display()))?;
            Ok(ExitCode::SUCCESS)
        }
        false => Err(Failure::failed(format!(
            "{} is refused, and its servers are not started",
            file.path.display()
        ))),
    }
}

pub(super) fn forget(workspace: &Workspace) -> Result<ExitCode, Failure> {
    match mcp::forget_answers(workspace)? {
        true => print_line("you will be asked again about this project's servers")?,
        false => print_line("nothing was approved or refused here")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write_servers(output: &mut dyn Print, file: &ProjectFile) -> io::Result<()> {
    writeln!(output, "{}:", file.path.display())?;
    for server in file.proposals() {
        writeln!(output, "  {}: {}", server.name, one_line(&server.target))?;
        for detail in &server.details {
            writeln!(output, "    {}", one_line(detail))?;
        }
    }
    Ok(())
}
