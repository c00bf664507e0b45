//! Snapshots of a runtime.

use zot_process::sandbox::Level;
use zot_wire::rpc::{
    CumulativeUsage, ModelUsage, SandboxData, SessionData, StateData, TurnUsage, UsageData,
};

use super::Runtime;
use crate::wire;

impl Runtime {
    /// Returns a snapshot, also during a prompt.
    pub fn state(&self) -> StateData {
        let sandbox = self.sandbox();
        StateData {
            provider: self.provider().to_owned(),
            model: self.model(),
            cwd: self.cwd().display().to_string(),
            message_count: self.agent.transcript().len(),
            busy: self.occupation.is_busy(),
            usage: self.cost(),
            jailed: sandbox.is_jailed,
            sandbox: (sandbox.policy.level != Level::Off).then(|| SandboxData::from(&sandbox)),
            session: self.session.as_ref().map(|session| SessionData {
                id: session.id.clone(),
                path: session.path.display().to_string(),
            }),
        }
    }

    /// Returns what was spent, by model and by model call.
    pub fn usage(&self) -> UsageData {
        let ledger = self.agent.ledger();
        UsageData {
            total: self.cost(),
            models: ledger
                .by_model()
                .map(|(model, usage)| ModelUsage {
                    model: model.to_owned(),
                    usage: wire::usage(usage),
                })
                .collect(),
            turns: ledger
                .calls()
                .map(|call| TurnUsage {
                    model: call.model.clone(),
                    time: call.time.to_string(),
                    usage: wire::usage(&call.usage),
                })
                .collect(),
        }
    }

    /// Returns everything spent since the runtime was created.
    pub fn cost(&self) -> CumulativeUsage {
        wire::usage(&self.agent.usage())
    }
}
