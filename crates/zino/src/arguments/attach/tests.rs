use clap::{Args as _, Command as Program, FromArgMatches as _};
use zot_wire::rpc::Command;

use super::Attach;

fn parse(arguments: &[&str]) -> Result<Attach, clap::Error> {
    let program = Attach::augment_args(Program::new("attach").no_binary_name(true));
    Attach::from_arg_matches(&program.try_get_matches_from(arguments)?)
}

#[test]
fn tools_are_chosen_by_name() {
    let request = parse(&["--tools", "read,grep"]).ok().unwrap().request(None);
    let [Command::SetTools { tools: Some(tools) }] = request.settings.as_slice() else {
        panic!("{:?}", request.settings);
    };
    assert_eq!(tools, &["read", "grep"]);
}

#[test]
fn a_sandbox_is_set_before_anything_runs() {
    let request = parse(&["--sandbox", "read-only"]).ok().unwrap();
    let request = request.request(None);
    let [Command::SetSandbox(sandbox)] = request.settings.as_slice() else {
        panic!("{:?}", request.settings);
    };
    assert_eq!(sandbox.level, zot_wire::rpc::SandboxLevel::ReadOnly);
    let error = parse(&["--sandbox", "tight"]).err().unwrap().to_string();
    assert!(error.contains("off, workspace or read-only"), "{error}");
}

#[test]
fn what_only_a_profile_can_set_is_refused() {
    for arguments in [
        ["--tools=-bash"].as_slice(),
        &["--tools", "-bash"],
        &["--tools", "read,-bash"],
    ] {
        let error = parse(arguments).err().unwrap().to_string();
        assert!(error.contains("only the profile"), "{error}");
    }
    for arguments in [["--ext", "guard"], ["-e", "guard"]] {
        let error = parse(&arguments).err().unwrap().to_string();
        assert!(error.contains("extensions run on the workers"), "{error}");
    }
}
