//! Wrong keys and forbidden subjects on the bus: refused, with an error that names them.

use testkit::nats::{NatsEnd, NatsOptions, Nkey, NkeyUser};

use super::Stage;
use super::report::Report;
use crate::cluster::{Ending, Ledger, Node, Site, Turn, loopback_places, recommended_bus, turn};

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let keys = Keys::new();
    let options = NatsOptions {
        users: keys.users(Some(NO_CALLS), None),
        ..recommended_bus()
    };
    let mut site = Site::new(&stage.program)?.with_bus(options)?;
    let (mut front, mut back) = site.front_and_back(stage.link, &loopback_places(2), site.url())?;
    keys.write(&site, &front, &back[0])?;
    wrong_key(&keys, &site, &mut front, report)?;
    back[0].start()?;
    front.start()?;
    let ledger = Ledger::default();
    for attempt in 0..3 {
        let ending = send(&front, &format!("say:1 forbidden {attempt}"), &ledger);
        let told = "do not allow it to publish to \"zino.default.mem\"";
        let named = matches!(&ending, Ending::Failed { message, .. } if message.contains(told));
        report.must(
            &format!("a forbidden subject to publish to: {ending:?}"),
            named,
        );
    }
    let log = front.log();
    let lines = log
        .lines()
        .filter(|line| line.contains("publish to"))
        .count();
    report.figure("lines about it in the log of the caller", lines);
    // The server of the bus learns better.
    restart(&mut site, &keys, None, None)?;
    let ending = eventually_saved(&front, "first", &ledger);
    report.must(
        &format!("after the right permissions: {ending:?}"),
        ending == Ending::Saved,
    );
    back[0].kill();
    restart(&mut site, &keys, None, Some(NO_SERVICE))?;
    let told = "do not allow it to subscribe to \"zino.default.mem\"";
    let said = back[0].refusal()?;
    report.must(
        &format!("a forbidden subject to subscribe to: {}", last_line(&said)),
        said.contains(told),
    );
    restart(&mut site, &keys, None, None)?;
    back[0].start()?;
    let ending = eventually_saved(&front, "second", &ledger);
    report.must(
        &format!("after the right permissions: {ending:?}"),
        ending == Ending::Saved,
    );
    report.audit(&ledger, &site)?;
    Ok(())
}

/// The caller may not call `mem`, without which it answers nobody.
const NO_CALLS: &str = "publish: { deny: [\"zino.default.mem\", \"zino.default.mem.>\"] }";

/// The server may not serve `mem`.
const NO_SERVICE: &str = "subscribe: { deny: [\"zino.default.mem\", \"zino.default.mem.>\"] }";

struct Keys {
    front: Nkey,
    back: Nkey,
    unknown: Nkey,
}

impl Keys {
    fn new() -> Self {
        Self {
            front: Nkey::new(),
            back: Nkey::new(),
            unknown: Nkey::new(),
        }
    }

    fn users(&self, front: Option<&str>, back: Option<&str>) -> Vec<NkeyUser> {
        let user = |key: &Nkey, permissions: Option<&str>| NkeyUser {
            key: key.clone(),
            permissions: permissions.map(str::to_owned),
        };
        vec![user(&self.front, front), user(&self.back, back)]
    }

    /// Gives each node its key.
    fn write(&self, site: &Site, front: &Node, back: &Node) -> anyhow::Result<()> {
        for (node, key) in [(front, &self.front), (back, &self.back)] {
            key.write(&site.certificates().join(format!("{}.seed", node.name)));
            node.configure(&format!("nkey = \"../certs/{}.seed\"\n", node.name))?;
        }
        Ok(())
    }
}

/// Starts a node with a key that the server does not know, and with one that others can read.
fn wrong_key(keys: &Keys, site: &Site, node: &mut Node, report: &mut Report) -> anyhow::Result<()> {
    let path = site.certificates().join(format!("{}.seed", node.name));
    keys.unknown.write(&path);
    let said = node.refusal()?;
    report.must(
        &format!("a key that the server does not know: {}", last_line(&said)),
        said.contains("refused the nkey in "),
    );
    keys.front.write(&path);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    let said = node.refusal()?;
    report.must(
        &format!("a key that others can read: {}", last_line(&said)),
        said.contains("can be read by others (mode 644)"),
    );
    keys.front.write(&path);
    Ok(())
}

/// Restarts the server with other permissions.
fn restart(
    site: &mut Site,
    keys: &Keys,
    front: Option<&str>,
    back: Option<&str>,
) -> anyhow::Result<()> {
    let bus = site.bus()?;
    bus.stop(NatsEnd::Stop);
    bus.configure(|options| options.users = keys.users(front, back));
    bus.start_again();
    Ok(())
}

fn send(front: &Node, message: &str, ledger: &Ledger) -> Ending {
    let next = Turn {
        channel: "refusals".to_owned(),
        message: message.to_owned(),
    };
    let ending = turn(&front.socket("daemon"), &next);
    ledger.note(next, ending.clone());
    ending
}

/// Sends turns until one is saved: nodes need a moment to connect again.
fn eventually_saved(front: &Node, name: &str, ledger: &Ledger) -> Ending {
    let mut last = Ending::Lost;
    for attempt in 0..100 {
        last = send(front, &format!("say:1 {name} {attempt}"), ledger);
        if last == Ending::Saved {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    last
}

fn last_line(log: &str) -> &str {
    log.lines().last().unwrap_or_default()
}
