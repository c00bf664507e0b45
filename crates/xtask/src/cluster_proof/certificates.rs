//! Certificates that are wrong, expired or of another authority: refused, with an error that says so.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use rustix::process::Signal;

use super::Stage;
use super::report::Report;
use crate::cluster::{
    Authority, Ending, Ledger, Link, Node, Site, Turn, Validity, loopback_places, turn,
};

/// Whose certificate is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Caller,
    Server,
}

/// What is wrong with a certificate, and what the caller sees.
struct Case {
    what: &'static str,
    side: Side,
    /// The services it names.
    names: &'static [&'static str],
    validity: Validity,
    is_foreign: bool,
    told: &'static str,
}

const EVERYTHING: &[&str] = &["rtr", "sys", "exc", "mem", "ctx", "agr", "daemon"];

const CASES: [Case; 6] = [
    Case {
        what: "a server with the name of another service",
        side: Side::Server,
        names: &["ctx"],
        validity: Validity::Valid,
        is_foreign: false,
        told: "its certificate is for ctx.default.zino, not for mem.default.zino",
    },
    Case {
        what: "a server whose certificate has expired",
        side: Side::Server,
        names: EVERYTHING,
        validity: Validity::Expired,
        is_foreign: false,
        told: "its certificate expired on 2021-02-03",
    },
    Case {
        what: "a server of another authority",
        side: Side::Server,
        names: EVERYTHING,
        validity: Validity::Valid,
        is_foreign: true,
        told: "its certificate is from another authority",
    },
    Case {
        what: "a caller whose certificate has expired",
        side: Side::Caller,
        names: EVERYTHING,
        validity: Validity::Expired,
        is_foreign: false,
        told: "refused our certificate: it has expired",
    },
    Case {
        what: "a caller of another authority",
        side: Side::Caller,
        names: EVERYTHING,
        validity: Validity::Valid,
        is_foreign: true,
        told: "refused our certificate: it is from another authority",
    },
    Case {
        what: "a caller that may not call",
        side: Side::Caller,
        names: &["exc"],
        validity: Validity::Valid,
        is_foreign: false,
        told: "exc.default.zino may not call mem",
    },
];

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = Site::new(&stage.program)?;
    let (mut front, mut back) = site.front_and_back(Link::Tls, &loopback_places(2), site.url())?;
    back[0].start()?;
    front.start()?;
    let foreign = Authority::new("another authority")?;
    let ledger = Ledger::default();
    for (number, case) in CASES.iter().enumerate() {
        let node = match case.side {
            Side::Caller => &front,
            Side::Server => &back[0],
        };
        let saved = Saved::of(&site, node)?;
        let authority = if case.is_foreign {
            &foreign
        } else {
            &site.authority
        };
        authority.issue(&site.certificates(), &node.name, case.names, case.validity)?;
        reload(&[&front, &back[0]])?;
        let ending = send(&front, &format!("say:1 refused {number}"), &ledger);
        let message = match &ending {
            Ending::Failed { message, .. } => message.as_str(),
            _ => "",
        };
        report.must(
            &format!("{}: {ending:?}", case.what),
            message.contains(case.told),
        );
        saved.restore()?;
        reload(&[&front, &back[0]])?;
        let ending = send(&front, &format!("say:1 accepted {number}"), &ledger);
        report.must(
            &format!("after the right files and SIGHUP: {ending:?}"),
            ending == Ending::Saved,
        );
    }
    report.audit(&ledger, &site)?;
    Ok(())
}

fn send(front: &Node, message: &str, ledger: &Ledger) -> Ending {
    let next = Turn {
        channel: "certificates".to_owned(),
        message: message.to_owned(),
    };
    let ending = turn(&front.socket("daemon"), &next);
    ledger.note(next, ending.clone());
    ending
}

/// Makes nodes read their certificates again, and waits until they have.
fn reload(nodes: &[&Node]) -> anyhow::Result<()> {
    for node in nodes {
        node.signal(Signal::HUP)?;
    }
    // Nothing outside shows when a signal has been handled.
    std::thread::sleep(std::time::Duration::from_millis(500));
    Ok(())
}

/// The right files of a node.
struct Saved([(PathBuf, Vec<u8>); 2]);

impl Saved {
    fn of(site: &Site, node: &Node) -> anyhow::Result<Self> {
        let read = |kind: &str| {
            let path = site.certificates().join(format!("{}.{kind}", node.name));
            let content = fs::read(&path).with_context(|| path.display().to_string())?;
            anyhow::Ok((path, content))
        };
        Ok(Self([read("pem")?, read("key")?]))
    }

    fn restore(self) -> anyhow::Result<()> {
        for (path, content) in self.0 {
            fs::write(path, content)?;
        }
        Ok(())
    }
}
