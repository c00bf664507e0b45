//! What the built-in tools may do.

use zot_process::sandbox::{ConnectRule, Level, Policy, Rules};

/// What `read`, `write`, `edit` and `bash` may do. By default everything that the user may do.
///
/// Can be converted from a [`Policy`]: `sandbox: Policy::at(Level::Workspace).into()`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxChoice {
    /// How strict it is; [`Level::Off`] if neither this nor a setting says.
    pub level: Option<Level>,
    /// What is allowed besides. Settings add to its lists.
    pub rules: Rules,
    /// Whether nobody may allow more while the agent runs, for programs whose users are not the owner of
    /// the machine. What users once allowed for a project does not count either.
    pub is_fixed: bool,
}

impl SandboxChoice {
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            level: self.level.unwrap_or_default(),
            rules: self.rules.clone(),
        }
    }
}

impl From<Policy> for SandboxChoice {
    fn from(policy: Policy) -> Self {
        Self {
            level: Some(policy.level),
            rules: policy.rules,
            is_fixed: false,
        }
    }
}

/// Returns `policy` in the jail as well: the stricter of the two in every respect.
pub(crate) fn jailed(mut policy: Policy) -> Policy {
    if policy.level == Level::Off {
        policy.level = Level::Workspace;
        policy.rules.connect = vec![ConnectRule::Anywhere];
        policy.rules.inherits_environment = true;
    }
    policy.rules.hides_system_from_tools = true;
    policy
}

#[cfg(test)]
mod tests;
